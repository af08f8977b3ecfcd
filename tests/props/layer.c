/* See layer.h. */
#include "layer.h"

#include <string.h>

#include "common/cmocka.h"

#define EXACT_BELOW (1 << 24) /* integers a float32 holds without gaps */

/* The most products one element of y, dx or dw sums. */
static int64_t longest_sum(const layer *l) {
  const test_case *p = &l->problem;
  const int64_t sums[] = {l->w_count / p->w_shape[0], l->w_count / p->w_shape[1],
                          l->y_count / p->y_shape[1]};
  int64_t longest = 0;
  for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
    if (sums[i] > longest) longest = sums[i];
  return longest;
}

layer layer_make(convoy_context *context, const char *device, const test_case *problem,
                 uint64_t seed) {
  const int32_t rank = problem->conv.rank;
  layer l = {.context = context,
             .device = device,
             .problem = *problem,
             .random = {seed},
             .x_count = test_count(problem->x_shape, rank),
             .w_count = test_count(problem->w_shape, rank),
             .y_count = test_count(problem->y_shape, rank)};
  /* 2: linearity adds two inputs */
  assert_true(2 * TEST_INTEGER_LIMIT * TEST_INTEGER_LIMIT * longest_sum(&l) < EXACT_BELOW);
  return l;
}

test_array layer_data(layer *l, int64_t count) {
  test_array array = test_array_new(count);
  test_fill_integers(&l->random, array.values, count);
  return array;
}

static test_array poisoned(int64_t count) {
  test_array array = test_array_new(count);
  test_fill_nan(array.values, count);
  return array;
}

void layer_fail(const layer *l, const char *what, int64_t index, double got, double expected) {
  char text[CONVOY_PROBLEM_TEXT];
  test_case_text(&l->problem, CONVOY_FORWARD, text, sizeof text);
  fail_msg("%s [%lld]: %.17g is not %.17g | repro: test_props %s '%s'", what, (long long)index, got,
           expected, l->device, text);
}

static void require_run(const layer *l, const char *what, convoy_status status,
                        const convoy_run *run) {
  char text[CONVOY_PROBLEM_TEXT];
  test_case_text(&l->problem, CONVOY_FORWARD, text, sizeof text);
  if (status != CONVOY_OK)
    fail_msg("%s of '%s' on %s: %s", what, text, l->device, convoy_last_error());
  if (run->attempts != 1 || strcmp(run->device, l->device) != 0)
    fail_msg("%s of '%s' ran on %s, attempts %d: %s", what, text, run->device, run->attempts,
             run->fault);
}

test_array layer_forward(const layer *l, const float *x, const float *w) {
  const test_case *p = &l->problem;
  convoy_run run = CONVOY_RUN_INIT;
  test_array y = poisoned(l->y_count);
  require_run(l, "forward",
              convoy_forward_host(l->context, &p->conv, p->x_shape, x, p->w_shape, w, NULL, NULL,
                                  y.values, &run),
              &run);
  return y;
}

test_array layer_backward_data(const layer *l, const float *dy, const float *w) {
  const test_case *p = &l->problem;
  convoy_run run = CONVOY_RUN_INIT;
  test_array dx = poisoned(l->x_count);
  require_run(l, "backward_data",
              convoy_backward_data_host(l->context, &p->conv, p->x_shape, dy, p->w_shape, w, 0.0f,
                                        dx.values, &run),
              &run);
  return dx;
}

test_array layer_backward_weights(const layer *l, const float *x, const float *dy) {
  const test_case *p = &l->problem;
  convoy_run run = CONVOY_RUN_INIT;
  test_array dw = poisoned(l->w_count);
  require_run(l, "backward_weights",
              convoy_backward_weights_host(l->context, &p->conv, p->x_shape, x, p->w_shape, dy,
                                           0.0f, dw.values, &run),
              &run);
  return dw;
}
