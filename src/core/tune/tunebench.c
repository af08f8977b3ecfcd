/* Running a candidate: on the device by core/exec/launch.c, on the CPU engine straight on host
 * memory. */
#include "core/tune/tunebench.h"

#include <math.h>
#include <string.h>

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/values.h"
#include "os/os.h"
#include "problem/conv/conv.h"

/* By their definition: enough that an engine that is its own reference cannot err unseen. */
enum { SAMPLES = 64 };
#define SAMPLE_TERMS 1e7

/* -------------------------------------------------------------------------------- operands */

/* Values in (-1, 1), never 0: a product that is left out shows. */
static void fill(float *values, int64_t count, uint32_t seed) {
  uint32_t state = seed;
  for (int64_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    int32_t odd = (int32_t)(state >> 9) * 2 + 1;
    values[i] = (float)(odd - (1 << 23)) * 0x1p-23f;
  }
}

static convoy_status new_store(cvy_bench *bench, cvy_conv_array array, cvy_store **out) {
  int64_t count = cvy_conv_count(&bench->op.problem, array);
  float *values;
  *out = cvy_store_new(bench->context, count * (int64_t)sizeof(float));
  if (!*out) return CONVOY_ERR_MEMORY;
  convoy_status status = cvy_values_new(*out, &values);
  if (status) return status;
  fill(values, count, 1u + (uint32_t)array);
  cvy_store_publish(*out, values);
  return CONVOY_OK;
}

convoy_status cvy_bench_open(convoy_context *context, const cvy_problem *problem, cvy_bench *out) {
  cvy_conv_operands operands = cvy_conv_operands_of(problem);
  *out = (cvy_bench){.context = context, .engine = cvy_context_engine(context)};
  out->op.problem = *problem;
  convoy_status status = new_store(out, operands.a, &out->op.a);
  if (!status && operands.has_b) status = new_store(out, operands.b, &out->op.b);
  if (!status) status = new_store(out, operands.out, &out->result);
  if (status) return status;
  cvy_values from = {{out->op.a->host, out->op.b ? out->op.b->host : NULL}};
  return cvy_expect(&context->chooser, &context->cpu, problem, &from, &out->expected);
}

void cvy_bench_close(cvy_bench *bench) {
  cvy_expected_free(&bench->expected);
  cvy_store_drop(bench->op.a);
  cvy_store_drop(bench->op.b);
  cvy_store_drop(bench->result);
}

/* ---------------------------------------------------------------------------------- running */

static convoy_status check_interrupt(convoy_context *context) {
  if (!__atomic_exchange_n(&context->interrupt, 0, __ATOMIC_RELAXED)) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_INTERRUPTED, "convoy_interrupt() ended the tuning");
}

static convoy_status run_here(cvy_bench *bench, const cvy_choice *choice) {
  const cvy_engine *engine = bench->engine;
  cvy_job job = {.problem = bench->op.problem,
                 .algorithm = choice->row,
                 .params = choice->params,
                 .in[0].host = bench->op.a->host,
                 .in[1].host = bench->op.b ? bench->op.b->host : NULL,
                 .out[0].host = bench->result->host};
  return engine->backend->run(engine->device, &job, NULL);
}

static convoy_status run_there(cvy_bench *bench, const cvy_choice *choice, float *result) {
  cvy_store *out = cvy_store_new(bench->context, bench->result->bytes);
  if (!out) return CONVOY_ERR_MEMORY;
  out->unproven =
      result != NULL; /* it is filled with NaN then, so that what is not written shows */
  convoy_status status = cvy_enqueue(bench->context, &bench->op, choice, out);
  if (!status && result) status = cvy_read_back(out, result);
  cvy_store_drop(out);
  return status;
}

/* Once; with a result that is looked at, into the bench's memory. */
static convoy_status run(cvy_bench *bench, const cvy_choice *choice, bool looked_at) {
  convoy_status status = check_interrupt(bench->context);
  if (status) return status;
  if (!bench->engine->backend->host_memory) {
    return run_there(bench, choice, looked_at ? bench->result->host : NULL);
  }
  float *values = bench->result->host;
  for (int64_t i = 0; looked_at && i < bench->expected.count; i++) values[i] = NAN;
  return run_here(bench, choice);
}

static bool samples_match(const cvy_bench *bench, const cvy_algorithm *row, cvy_mismatch *found) {
  cvy_claim claim = {&bench->op.problem, bench->expected.from, bench->result->host, row};
  cvy_samples samples = {.count = 0};
  double most = SAMPLE_TERMS / ((double)cvy_problem_terms(claim.problem) + 1.0);
  cvy_sample_any(bench->expected.count, most < SAMPLES ? (int32_t)most + 1 : SAMPLES, 1, &samples);
  return cvy_check_samples(&claim, &samples, found);
}

convoy_status cvy_bench_check(cvy_bench *bench, const cvy_choice *choice, bool *right) {
  cvy_mismatch found;
  convoy_status status = run(bench, choice, true);
  if (status) return status;
  const cvy_algorithm *row = cvy_chosen(bench->engine, choice);
  *right = cvy_expected_matches(&bench->expected, row, bench->result->host, &found) &&
           samples_match(bench, row, &found);
  if (*right) return CONVOY_OK;
  cvy_log(CONVOY_LOG_WARNING, "%s is wrong: element %lld is %.9g, not %.9g", row->name,
          (long long)found.index, found.got, found.wanted);
  return CONVOY_OK;
}

convoy_status cvy_bench_time(cvy_bench *bench, const cvy_choice *choice, int batch,
                             double *seconds) {
  convoy_context *context = bench->context;
  double start = cvy_clock();
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < batch && !status; i++) status = run(bench, choice, false);
  if (!status && !bench->engine->backend->host_memory) {
    status = cvy_await(context, context->last_ticket);
  }
  *seconds = (cvy_clock() - start) / batch;
  return status;
}
