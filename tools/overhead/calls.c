/* Measures what single calls cost, and how fast data move. */
#include "overhead/calls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/call.h"
#include "common/clock.h"
#include "common/interrupt.h"
#include "common/stats.h"

enum { ROUNDS = 101, CALLS = 64 }; /* so many fit into the ring: nobody waits for room */
enum { TRANSFER_EXTENT = 8192, TRANSFER_ROUNDS = 9 };

static problem problem_of(convoy_direction direction, int64_t extent, int64_t filter,
                          int64_t stride) {
  problem out = {.conv = CONVOY_CONV_INIT(2), .direction = direction};
  const int64_t x[] = {1, 1, extent, extent}, w[] = {1, 1, filter, filter};
  memcpy(out.x_shape, x, sizeof x);
  memcpy(out.w_shape, w, sizeof w);
  for (int axis = 0; axis < 2; axis++) out.conv.stride[axis] = stride;
  convoy_output_shape(&out.conv, out.x_shape, out.w_shape, out.y_shape);
  return out;
}

/* ------------------------------------------------------------------------------ calls */

/* When the wait begins the device has been done for long: what is left is the asking. */
static convoy_status time_round(convoy_context *context, const problem *about, tensors *data,
                                overhead_calls *out) {
  double start = seconds_now();
  for (int i = 0; i < CALLS; i++) {
    convoy_status status = call_tensors(context, about, data, NULL);
    if (status != CONVOY_OK) return status;
  }
  out->enqueue = (seconds_now() - start) / CALLS;
  nanosleep(&(struct timespec){0, 20000000}, NULL);
  double asked = seconds_now();
  convoy_status status = convoy_sync(context);
  double again = seconds_now();
  out->wait = again - asked;
  if (status == CONVOY_OK) status = call_tensors(context, about, data, NULL);
  if (status == CONVOY_OK) status = convoy_sync(context);
  out->once = seconds_now() - again;
  return status;
}

static convoy_status time_rounds(convoy_context *context, const problem *about, tensors *data,
                                 overhead_calls *out) {
  double enqueue[ROUNDS], wait[ROUNDS], once[ROUNDS];
  convoy_status status = time_round(context, about, data, out);
  for (int i = 0; i < ROUNDS && status == CONVOY_OK; i++) {
    status = interrupt_check(time_round(context, about, data, out));
    enqueue[i] = out->enqueue;
    wait[i] = out->wait;
    once[i] = out->once;
  }
  if (status != CONVOY_OK) return status;
  *out = (overhead_calls){stats_of(enqueue, ROUNDS).median, stats_of(wait, ROUNDS).median,
                          stats_of(once, ROUNDS).median};
  return CONVOY_OK;
}

convoy_status overhead_measure_calls(const sides *on, overhead_calls out[SIDES]) {
  problem about = problem_of(CONVOY_FORWARD, 8, 3, 1);
  operands data;
  if (!operands_make(&about, fill_real, false, &data)) return CONVOY_ERR_MEMORY;
  convoy_status status = CONVOY_OK;
  for (int side = 0; side < SIDES && status == CONVOY_OK; side++) {
    tensors resident;
    status = tensors_make(on->context[side], &about, &data, &resident);
    if (status != CONVOY_OK) break;
    status = time_rounds(on->context[side], &about, &resident, &out[side]);
    tensors_free(&resident);
  }
  operands_free(&data);
  return status;
}

/* -------------------------------------------------------------------------- transfers */

/* Measures bytes of the larger array per second. */
static convoy_status time_transfer(convoy_context *context, const problem *about, operands *data,
                                   double *out) {
  double seconds[TRANSFER_ROUNDS];
  convoy_status status = call_host(context, about, data, 0.0f, NULL, NULL);
  for (int i = 0; i < TRANSFER_ROUNDS && status == CONVOY_OK; i++) {
    double start = seconds_now();
    status = interrupt_check(call_host(context, about, data, 0.0f, NULL, NULL));
    seconds[i] = seconds_now() - start;
  }
  *out = (double)array_count(about, ARRAY_X) * sizeof(float) /
         stats_of(seconds, TRANSFER_ROUNDS).median;
  return status;
}

/* Measures the same with x in memory that both processes map. */
static convoy_status time_shared(convoy_context *context, const problem *about,
                                 const operands *ordinary, double *out) {
  size_t bytes = (size_t)ordinary->a_count * sizeof(float);
  operands data = *ordinary;
  void *memory;
  convoy_status status = convoy_host_alloc(context, bytes, &memory);
  if (status != CONVOY_OK) return status;
  data.a = memcpy(memory, ordinary->a, bytes);
  status = time_transfer(context, about, &data, out);
  convoy_host_free(context, memory);
  return status;
}

/* Measures reading a result on the device into memory that both processes map. */
static convoy_status time_reads(convoy_context *context, const problem *about, tensors *data,
                                float *into, double *out) {
  int64_t count = array_count(about, ARRAY_X);
  double seconds[TRANSFER_ROUNDS];
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < TRANSFER_ROUNDS && status == CONVOY_OK; i++) {
    status = call_tensors(context, about, data, NULL);
    if (status == CONVOY_OK) status = convoy_sync(context);
    double start = seconds_now();
    if (status == CONVOY_OK) status = interrupt_check(convoy_tensor_read(data->out, into, count));
    seconds[i] = seconds_now() - start;
  }
  *out = (double)count * sizeof(float) / stats_of(seconds, TRANSFER_ROUNDS).median;
  return status;
}

static convoy_status time_shared_reads(convoy_context *context, const problem *about,
                                       const operands *data, double *out) {
  void *memory;
  tensors resident;
  convoy_status status =
      convoy_host_alloc(context, (size_t)array_count(about, ARRAY_X) * sizeof(float), &memory);
  if (status != CONVOY_OK) return status;
  status = tensors_make(context, about, data, &resident);
  if (status == CONVOY_OK) {
    status = time_reads(context, about, &resident, memory, out);
    tensors_free(&resident);
  }
  convoy_host_free(context, memory);
  return status;
}

convoy_status overhead_measure_transfers(const sides *on, overhead_transfers *out) {
  /* A stride of 8 leaves one result for 64 values of x. */
  problem up = problem_of(CONVOY_FORWARD, TRANSFER_EXTENT, 1, 8);
  problem down = problem_of(CONVOY_BACKWARD_DATA, TRANSFER_EXTENT, 1, 8);
  convoy_context *context = on->context[SIDE_PROCESS];
  operands data;
  if (!operands_make(&up, fill_real, false, &data)) return CONVOY_ERR_MEMORY;
  convoy_status status = time_transfer(context, &up, &data, &out->up);
  if (status == CONVOY_OK) status = time_shared(context, &up, &data, &out->up_shared);
  operands_free(&data);
  if (status != CONVOY_OK) return status;
  if (!operands_make(&down, fill_real, false, &data)) return CONVOY_ERR_MEMORY;
  status = time_transfer(context, &down, &data, &out->down);
  if (status == CONVOY_OK) status = time_shared_reads(context, &down, &data, &out->down_shared);
  operands_free(&data);
  return status;
}
