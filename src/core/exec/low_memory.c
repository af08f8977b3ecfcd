/* Out of device memory. A piece of a batch is a problem like any other whose operands are borrowed
 * from host memory, so that backends need not know of pieces. Results of pieces lie side by side,
 * or are sums that go on from one piece to the next. */
#include "core/exec/low_memory.h"

#include <string.h>

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/values.h"

enum { MOST_PIECES = 64 };

/* How much is asked of the device. */
typedef struct effort {
  int64_t pieces;
  bool least_workspace;
} effort;

typedef struct image_range {
  int64_t first, count; /* images */
} image_range;

void cvy_shared_blocks_let_go(convoy_context *context) {
  for (int32_t i = 0; i < context->shared.count; i++)
    if (context->shared.block[i]) cvy_store_leave_device(context->shared.block[i]);
}

void cvy_evict(convoy_context *context) {
  for (cvy_store *each = context->stores; each; each = each->next) {
    if (each->host && !each->foreign) cvy_store_leave_device(each);
  }
  cvy_shared_blocks_let_go(context);
}

static int64_t images_of(const cvy_problem *problem) {
  return cvy_problem_images(problem);
}

static cvy_batch batch_of(const cvy_problem *problem) {
  return cvy_problem_batch(problem);
}

/* The images' part of what the node reads, with a reference; NULL: no memory. */
static cvy_store *part_of(const cvy_node *node, int32_t i, image_range images) {
  cvy_store *whole = node->input[i];
  cvy_array array = cvy_problem_input(&node->problem, i);
  if (images.count == images_of(&node->problem) || !array.per_image) return cvy_store_keep(whole);
  int64_t at = cvy_array_image(&array, images.first) * cvy_dtype_bytes(array.dtype);
  const char *from = (const char *)whole->host + at;
  array.extent[0] = images.count;
  return cvy_store_borrow(whole->context, (const float *)(const void *)from,
                          cvy_array_bytes(&array));
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

static convoy_status run_part(convoy_context *context, cvy_node *part, bool least,
                              cvy_store *const out[]) {
  cvy_choice choice;
  convoy_status status =
      least ? choose_least(context, &part->problem, &choice)
            : cvy_choose(&context->chooser, &context->device, &part->problem, &choice);
  if (!status) status = cvy_perform_chosen(context, part, &choice, out);
  for (int32_t i = 0; i < part->outputs && !status; i++) {
    if (!out[i]->host) status = cvy_await(context, out[i]->ticket);
    if (!status) status = cvy_store_fetch(out[i]);
  }
  return status;
}

/* A piece of an operation: which images, and what their sums go on from, NULL for results that lie
 * side by side and before the first piece. */
typedef struct piece {
  image_range images;
  cvy_store *sum;
  cvy_problem problem;
  cvy_store *input[CVY_MOST_READ], *output[CVY_MAX_OUTPUTS];
} piece;

static void drop_all(cvy_store **stores, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    cvy_store_drop(stores[i]);
    stores[i] = NULL;
  }
}

static void make_problem(const cvy_node *node, piece *p) {
  cvy_problem_copy(&p->problem, &node->problem);
  if (p->images.count != images_of(&node->problem))
    cvy_problem_set_images(&p->problem, p->images.count);
  p->problem.accumulate = node->problem.accumulate || p->sum;
}

/* False: memory ran out; what there is has to be dropped all the same. */
static bool make_stores(convoy_context *context, const cvy_node *node, piece *p) {
  int32_t inputs = cvy_problem_inputs(&p->problem);
  bool complete = true;
  for (int32_t i = 0; i < cvy_problem_reads(&p->problem); i++) {
    bool goes_on = i == inputs && p->sum;
    p->input[i] = goes_on ? cvy_store_keep(p->sum) : part_of(node, i, p->images);
    complete = complete && p->input[i];
  }
  for (int32_t i = 0; i < node->outputs; i++) {
    p->output[i] = cvy_store_new(context, cvy_problem_output_bytes(&p->problem, i));
    complete = complete && p->output[i];
  }
  return complete;
}

/* p->output gets the piece's results, whether it succeeds or not. */
static convoy_status run_piece(convoy_context *context, const cvy_node *node, bool least,
                               piece *p) {
  make_problem(node, p);
  bool complete = make_stores(context, node, p);
  cvy_node *part = complete ? cvy_node_new(&p->problem, p->input) : NULL;
  convoy_status status = part ? run_part(context, part, least, p->output) : CONVOY_ERR_MEMORY;
  drop_all(p->input, CVY_MOST_READ);
  cvy_node_drop(part);
  return status;
}

static void copy_results(const cvy_node *node, const piece *p, float *const values[]) {
  for (int32_t i = 0; i < node->outputs; i++) {
    cvy_array array = cvy_problem_output(&p->problem, i);
    int64_t first = array.per_image ? p->images.first : 0;
    int64_t at = cvy_array_image(&array, first) * cvy_dtype_bytes(array.dtype);
    cvy_array_copy(&array, (char *)values[i] + at, p->output[i]->host);
  }
}

static convoy_status run_pieces(convoy_context *context, const cvy_node *node, effort how,
                                float *const values[]) {
  bool sums = batch_of(&node->problem) == CVY_BATCH_SUMMED;
  int64_t n = images_of(&node->problem), each = (n + how.pieces - 1) / how.pieces;
  cvy_store *sum = NULL;
  convoy_status status = CONVOY_OK;
  for (int64_t first = 0; first < n && !status; first += each) {
    piece p = {.images = {first, n - first < each ? n - first : each}, .sum = sum};
    status = run_piece(context, node, how.least_workspace, &p);
    if (!status) copy_results(node, &p, values);
    cvy_store_drop(sum);
    sum = sums && !status ? cvy_store_keep(p.output[0]) : NULL;
    drop_all(p.output, node->outputs);
  }
  cvy_store_drop(sum);
  return status;
}

/* Sums go on from the piece before only in output 0. */
static bool has_pieces(const cvy_problem *problem) {
  if (batch_of(problem) == CVY_BATCH_SUMMED) return cvy_problem_outputs(problem) == 1;
  return batch_of(problem) == CVY_BATCH_INDEPENDENT;
}

static int64_t most_pieces(const cvy_problem *problem) {
  int64_t images = images_of(problem);
  if (!has_pieces(problem)) return 1;
  return images < MOST_PIECES ? images : MOST_PIECES;
}

static convoy_status refuse_pieces(const cvy_problem *problem) {
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(problem, text, sizeof(text));
  return cvy_fail(CONVOY_ERR_MEMORY,
                  "%s cannot be carried out in pieces: its results depend on all images at once",
                  text);
}

/* Ever less memory, until the status is another. */
static convoy_status try_harder(convoy_context *context, const cvy_node *node, effort *how,
                                float *const values[]) {
  convoy_status status = CONVOY_ERR_MEMORY;
  *how = (effort){1, false};
  while (status == CONVOY_ERR_MEMORY && cvy_device_ready(context)) {
    cvy_evict(context);
    status = run_pieces(context, node, *how, values);
    if (status != CONVOY_ERR_MEMORY) break;
    if (how->least_workspace) how->pieces *= 2;
    how->least_workspace = true;
    if (how->pieces <= most_pieces(&node->problem)) continue;
    return has_pieces(&node->problem) ? status : refuse_pieces(&node->problem);
  }
  return status;
}

convoy_status cvy_low_memory_run(convoy_context *context, const cvy_node *node,
                                 float *const values[]) {
  effort how;
  convoy_status status = cvy_node_fetch(node);
  if (status) return status;
  context->low_memory = true;
  status = try_harder(context, node, &how, values);
  context->low_memory = false;
  if (status) return status;
  cvy_report(context, CONVOY_EVENT_DOWNGRADE, CONVOY_ERR_MEMORY, "",
             "%s has too little memory: carried out again in %lld piece%s%s",
             context->device.facts.info.id, (long long)how.pieces, how.pieces > 1 ? "s" : "",
             how.least_workspace ? ", with little scratch memory" : ", what the host has given up");
  return CONVOY_OK;
}
