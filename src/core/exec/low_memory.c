/* Out of device memory. A piece of a batch is a problem like any other whose operands are borrowed
 * from host memory, so that backends need not know of pieces. Results of pieces lie side by side,
 * or are sums that go on from one piece to the next. */
#include "core/exec/low_memory.h"

#include <string.h>

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/values.h"
#include "problem/conv/conv.h"

enum { MOST_PIECES = 64 };

/* How much is asked of the device. */
typedef struct effort {
  int64_t pieces;
  bool least_workspace;
} effort;

typedef struct image_range {
  int64_t first, count; /* images */
} image_range;

static void evict(convoy_context *context) {
  for (cvy_store *each = context->stores; each; each = each->next) {
    if (each->host) cvy_store_leave_device(each);
  }
}

/* Whether the array has a part for each image; the others are the same for all of them. */
static bool per_image(cvy_conv_array array) {
  return array == CVY_X || array == CVY_Y;
}

/* The images' part of an operand, with a reference; NULL if there is none, or no memory. */
static cvy_store *part_of(const cvy_problem *problem, cvy_store *whole, cvy_conv_array array,
                          image_range images) {
  if (!whole || !per_image(array) || images.count == problem->conv.n) return cvy_store_keep(whole);
  int64_t bytes = whole->bytes / problem->conv.n;
  const char *from = (const char *)whole->host + images.first * bytes;
  return cvy_store_borrow(whole->context, (const float *)(const void *)from, images.count * bytes);
}

/* The row that takes the problem with the least scratch memory. */
static convoy_status choose_least(convoy_context *context, const cvy_problem *problem,
                                  cvy_choice *out) {
  const cvy_engine *engine = &context->device;
  convoy_status status = cvy_choose(&context->chooser, engine, problem, out);
  if (status || context->chooser.forced[0]) return status;
  for (int32_t row = 0; engine->backend->algorithms[row]; row++) {
    char unused[192];
    cvy_text reason = cvy_text_in(unused, sizeof(unused));
    cvy_choice other;
    if (!cvy_row_takes(engine, row, problem, &other, &reason)) continue;
    other.level = out->level;
    if (other.workspace < out->workspace) *out = other;
  }
  return CONVOY_OK;
}

static convoy_status run_part(convoy_context *context, const cvy_op *part, bool least,
                              cvy_store *out) {
  cvy_choice choice;
  convoy_status status =
      least ? choose_least(context, &part->problem, &choice)
            : cvy_choose(&context->chooser, &context->device, &part->problem, &choice);
  if (!status) status = cvy_perform_chosen(context, part, &choice, out);
  if (!status && !out->host) status = cvy_await(context, out->ticket);
  return status ? status : cvy_store_fetch(out);
}

/* `sum` is the store that sums have come to so far, NULL for results that lie side by side and
 * before the first piece; *out gets the piece's result. */
static convoy_status run_piece(convoy_context *context, const cvy_op *op, image_range images,
                               cvy_store *sum, bool least, cvy_store **out) {
  cvy_conv_operands operands = cvy_conv_operands_of(&op->problem);
  cvy_op part = {
      .problem = op->problem,
      .a = part_of(&op->problem, op->a, operands.a, images),
      .b = part_of(&op->problem, op->b, operands.b, images),
      .bias = cvy_store_keep(op->bias),
      .prior = sum ? cvy_store_keep(sum) : part_of(&op->problem, op->prior, operands.out, images)};
  part.problem.conv.n = images.count;
  part.problem.accumulate = part.prior != NULL;
  int64_t count = cvy_conv_count(&part.problem, operands.out);
  *out = cvy_store_new(context, count * (int64_t)sizeof(float));
  bool complete = *out && !part.a == !op->a && !part.b == !op->b && (!op->prior || part.prior);
  convoy_status status = complete ? run_part(context, &part, least, *out) : CONVOY_ERR_MEMORY;
  for (int i = 0; i < CVY_OP_INPUTS; i++) cvy_store_drop(cvy_op_input(&part, i));
  return status;
}

static convoy_status run_pieces(convoy_context *context, const cvy_op *op, effort how,
                                float *values) {
  bool sums = !per_image(cvy_conv_operands_of(&op->problem).out);
  int64_t n = op->problem.conv.n, each = (n + how.pieces - 1) / how.pieces;
  cvy_store *sum = NULL;
  convoy_status status = CONVOY_OK;
  for (int64_t first = 0; first < n && !status; first += each) {
    image_range images = {first, n - first < each ? n - first : each};
    cvy_store *out;
    status = run_piece(context, op, images, sum, how.least_workspace, &out);
    if (!status) memcpy(values, out->host, (size_t)out->bytes);
    if (!status && !sums) values += out->bytes / (int64_t)sizeof(float);
    cvy_store_drop(sum);
    sum = sums && !status ? cvy_store_keep(out) : NULL;
    cvy_store_drop(out);
  }
  cvy_store_drop(sum);
  return status;
}

/* Ever less memory, until the status is another. */
static convoy_status try_harder(convoy_context *context, const cvy_op *op, effort *how,
                                float *values) {
  convoy_status status = CONVOY_ERR_MEMORY;
  *how = (effort){1, false};
  while (status == CONVOY_ERR_MEMORY && cvy_device_ready(context)) {
    evict(context);
    status = run_pieces(context, op, *how, values);
    if (status != CONVOY_ERR_MEMORY) break;
    if (how->least_workspace) how->pieces *= 2;
    how->least_workspace = true;
    if (how->pieces > op->problem.conv.n || how->pieces > MOST_PIECES) break;
  }
  return status;
}

convoy_status cvy_low_memory_run(convoy_context *context, const cvy_op *op, float *values) {
  effort how;
  convoy_status status = cvy_op_fetch(op);
  if (status) return status;
  context->low_memory = true;
  status = try_harder(context, op, &how, values);
  context->low_memory = false;
  if (status) return status;
  cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_MEMORY, "",
             "%s has too little memory: carried out again in %lld piece%s%s",
             context->device.facts.info.id, (long long)how.pieces, how.pieces > 1 ? "s" : "",
             how.least_workspace ? ", with little scratch memory" : ", what the host has given up");
  return CONVOY_OK;
}
