#include "captures/carry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(convoy_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, convoy_last_error());
  exit(EXIT_FAILURE);
}

void carrier_open(const char *device, const char *passes, bool failover, carrier *out) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = device;
  options.failover = failover ? CONVOY_ON : CONVOY_NO;
  options.winograd = CONVOY_NO; /* which has a bound of its own */
  setenv("CONVOY_GRAPH_PASSES", passes, 1);
  memset(out, 0, sizeof *out);
  must(convoy_open(&options, &out->context), device);
  for (int i = 0; i < OPERATIONS; i++)
    if (operations[i].program)
      must(convoy_program_parse(operations[i].program, &out->program[i]), operations[i].program);
}

void carrier_close(carrier *c) {
  for (int i = 0; i < OPERATIONS; i++) convoy_program_free(c->program[i]);
  convoy_close(c->context);
}

/* ---------------------------------------------------------------------------------- operations */

static convoy_conv padded(void) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  conv.pad_begin[0] = conv.pad_begin[1] = conv.pad_end[0] = conv.pad_end[1] = 1;
  return conv;
}

static convoy_status convolve(convoy_context *context, const step *at, convoy_tensor *const *t) {
  const convoy_conv conv = padded();
  convoy_tensor *a = t[at->in[0]], *b = t[at->in[1]], *y = t[at->out[0]];
  if (at->what == CONV) return convoy_forward(context, &conv, a, b, NULL, NULL, y, NULL);
  if (at->what == BACKWARD_DATA) return convoy_backward_data(context, &conv, a, b, 0, y, NULL);
  float beta = at->what == ADD_WEIGHTS ? 1 : 0;
  return convoy_backward_weights(context, &conv, a, b, beta, y, NULL);
}

static convoy_status matmul(convoy_context *context, const step *at, convoy_tensor *const *t) {
  return convoy_matmul(context, (uint32_t)at->variant, t[at->in[0]], t[at->in[1]], t[at->out[0]],
                       NULL);
}

static convoy_status slice(convoy_context *context, const step *at, convoy_tensor *const *t) {
  const int64_t begin[4] = {0, 2 * at->variant, 0, 0}, by[4] = {1, 1, 1, 1};
  return convoy_slice(context, begin, by, t[at->in[0]], t[at->out[0]], NULL);
}

static convoy_status concatenate(convoy_context *context, const step *at, convoy_tensor *const *t) {
  const convoy_tensor *const parts[2] = {t[at->in[0]], t[at->in[1]]};
  return convoy_concatenate(context, 1, 2, parts, t[at->out[0]], NULL);
}

static convoy_status copy(convoy_context *context, const step *at, convoy_tensor *const *t) {
  (void)context;
  return convoy_tensor_copy(t[at->in[0]], t[at->out[0]]);
}

static convoy_status cut(convoy_context *context, const step *at, convoy_tensor *const *t) {
  (void)at, (void)t;
  return convoy_capture_cut(context);
}

static convoy_status gradients(convoy_context *context, const step *at, convoy_tensor *const *t) {
  convoy_tensor *of[MOST_OF], *out[MOST_OF];
  for (int i = 0; i < at->count; i++) of[i] = t[at->of[i]], out[i] = t[at->to[i]];
  convoy_tensor *dy = at->in[1] == NO_SLOT ? NULL : t[at->in[1]];
  return convoy_gradients(context, t[at->in[0]], dy, at->count, of, out);
}

typedef convoy_status call_fn(convoy_context *context, const step *at, convoy_tensor *const *t);
static call_fn *const calls[OPERATIONS] = {
    [CONV] = convolve,
    [BACKWARD_DATA] = convolve,
    [BACKWARD_WEIGHTS] = convolve,
    [ADD_WEIGHTS] = convolve,
    [MATMUL] = matmul,
    [SLICE] = slice,
    [CONCATENATE] = concatenate,
    [COPY] = copy,
    [CUT] = cut,
    [GRADIENTS] = gradients,
};

static convoy_status apply(const carrier *c, const step *at, convoy_tensor *const *t) {
  const operation_row *row = &operations[at->what];
  const convoy_tensor *in[3];
  convoy_tensor *out[2];
  for (int i = 0; i < row->inputs; i++) in[i] = t[at->in[i]];
  for (int i = 0; i < row->outputs; i++) out[i] = t[at->out[i]];
  return convoy_apply(c->context, c->program[at->what], in, out, NULL);
}

/* ------------------------------------------------------------------------------------- capture */

static float lent[SLOTS][MOST_ELEMENTS];

void carry_write(const carried *a, const script *s, int time, int slot) {
  const int64_t count = kinds[kind_of_slot[slot]].count;
  const void *values = lent[slot];
  for (int i = 0; i < count; i++) lent[slot][i] = script_datum(s, time, slot, i);
  if (time >= 0 && script_random(s->seed, 4, (uint64_t)time, (uint64_t)slot) % 3 == 0)
    must(convoy_tensors_lend(1, &a->tensor[slot], &values, &count), "lend");
  else
    must(convoy_tensor_write(a->tensor[slot], values, count), "write");
}

void carry_return_lent(const carrier *c) {
  must(convoy_return_lent(c->context), "return");
  for (int slot = 0; slot < SLOTS; slot++)
    for (int i = 0; i < MOST_ELEMENTS; i++) lent[slot][i] = NAN;
}

static convoy_status take(const carrier *c, const script *s, const step *at, carried *a) {
  if (at->what == FREE) {
    convoy_tensor_free(a->tensor[at->in[0]]);
    a->tensor[at->in[0]] = NULL;
    return CONVOY_OK;
  }
  if (at->what == WRITE) {
    carry_write(a, s, IN_CAPTURE, at->out[0]);
    return CONVOY_OK;
  }
  return c->program[at->what] ? apply(c, at, a->tensor)
                              : calls[at->what](c->context, at, a->tensor);
}

static void make_tensors(const carrier *c, const script *s, carried *a) {
  for (int slot = 0; slot < SLOTS; slot++) {
    const kind_of_tensor *kind = &kinds[kind_of_slot[slot]];
    must(convoy_tensor_new(c->context, kind->dims, kind->shape, &a->tensor[slot]), "new");
    carry_write(a, s, AT_FIRST, slot);
  }
}

bool carry_capture(const carrier *c, const script *s, bool cuts, carried *out) {
  bool fine = true;
  memset(out, 0, sizeof *out);
  make_tensors(c, s, out);
  must(convoy_capture_begin(c->context), "begin");
  for (int i = 0; i < s->steps; i++) {
    const step *at = &s->step[i];
    if (at->what == CUT && !cuts) continue;
    out->status[i] = take(c, s, at, out);
    if (!out->status[i]) continue;
    snprintf(out->sentence[i], sizeof out->sentence[i], "%s", convoy_last_error());
    fine = fine && at->what == GRADIENTS;
    if (!fine) printf("step %d was refused: %s\n", i, out->sentence[i]);
  }
  must(convoy_capture_end(c->context, &out->graph), "end");
  return fine;
}

bool carry_read(const carried *a, int slot, float *values) {
  convoy_status status =
      convoy_tensor_read(a->tensor[slot], values, kinds[kind_of_slot[slot]].count);
  if (status) printf("read: %s\n", convoy_last_error());
  return !status;
}

void carry_free(carried *a) {
  convoy_graph_free(a->graph);
  for (int slot = 0; slot < SLOTS; slot++) convoy_tensor_free(a->tensor[slot]);
}
