/* See workload.h. */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

#define EXACT_BELOW 0x1p24 /* integers a float32 holds without gaps */

static void *need(void *memory) {
  if (memory != NULL) return memory;
  fprintf(stderr, "no memory for the reference\n");
  exit(EXIT_FAILURE);
}

static test_array make_array(test_random *random, data_kind kind, int64_t count) {
  test_array array = test_array_new(count);
  if (kind == DATA_INTEGERS)
    test_fill_integers(random, array.values, count);
  else
    test_fill_reals(random, array.values, count);
  test_array_seal(&array);
  return array;
}

operands workload_operands(const workload *work, const operation *op, float *out) {
  const float *const a[CONVOY_DIRECTIONS] = {work->x.values, work->dy.values, work->x.values,
                                             work->dy.values};
  const float *const b[CONVOY_DIRECTIONS] = {work->w.values, work->w.values, work->dy.values, NULL};
  return (operands){a[op->direction], b[op->direction], work->bias.values, out};
}

static void require_exact(const ref_value *reference, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (!(reference[i].magnitude + TEST_INTEGER_LIMIT < EXACT_BELOW)) {
      fprintf(stderr, "partial sums up to %g are not exact in float32: shape too large\n",
              reference[i].magnitude);
      exit(EXIT_FAILURE);
    }
}

static void make_direction(workload *work, test_random *random, convoy_direction direction) {
  const test_case *p = &work->problem;
  const operation plain = {.direction = direction};
  const operands with = workload_operands(work, &plain, NULL);
  const int64_t count = ref_output_count(&p->conv, direction, p->x_shape, p->w_shape);
  ref_value *reference = need(calloc((size_t)count, sizeof *reference));
  ref_run(&p->conv, direction, p->x_shape, p->w_shape, with.a, with.b, reference);
  if (work->kind == DATA_INTEGERS) require_exact(reference, count);
  work->count[direction] = count;
  work->reference[direction] = reference;
  work->before[direction] = make_array(random, work->kind, count);
}

void workload_make(const test_case *problem, data_kind kind, uint64_t seed, workload *out) {
  const int32_t rank = problem->conv.rank;
  test_random random = {seed};
  *out = (workload){.problem = *problem, .kind = kind, .seed = seed};
  out->x = make_array(&random, kind, test_count(problem->x_shape, rank));
  out->w = make_array(&random, kind, test_count(problem->w_shape, rank));
  out->dy = make_array(&random, kind, test_count(problem->y_shape, rank));
  out->bias = make_array(&random, kind, problem->y_shape[1]);
  for (int d = 0; d < CONVOY_DIRECTIONS; d++) make_direction(out, &random, (convoy_direction)d);
}

void workload_free(workload *work) {
  test_array *const arrays[] = {&work->x, &work->w, &work->dy, &work->bias};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) test_array_free(arrays[i]);
  for (int d = 0; d < CONVOY_DIRECTIONS; d++) {
    test_array_free(&work->before[d]);
    free(work->reference[d]);
  }
}

bool workload_inputs_unchanged(const workload *work) {
  const test_array *const arrays[] = {&work->x, &work->w, &work->dy, &work->bias};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    if (!test_array_unchanged(arrays[i]) || !test_array_intact(arrays[i])) return false;
  return true;
}

ref_value *workload_expected(const workload *work, const operation *op) {
  const test_case *p = &work->problem;
  const int64_t count = work->count[op->direction];
  const int64_t volume = test_count(p->y_shape + 2, p->conv.rank - 2);
  ref_value *expected = need(malloc((size_t)count * sizeof *expected));
  memcpy(expected, work->reference[op->direction], (size_t)count * sizeof *expected);
  expect_after(op, work->before[op->direction].values, work->bias.values, p->y_shape[1], volume,
               count, expected);
  return expected;
}

/* The most terms an output sums, padding included: what the promise counts. */
static int64_t terms(const test_case *p, convoy_direction direction) {
  const int64_t taps = test_count(p->w_shape + 2, p->conv.rank - 2);
  if (direction == CONVOY_BACKWARD_WEIGHTS)
    return p->x_shape[0] *
           test_count((p->conv.transposed ? p->x_shape : p->y_shape) + 2, p->conv.rank - 2);
  const int64_t *other = direction == CONVOY_FORWARD ? p->x_shape : p->y_shape;
  return other[1] / p->conv.groups * taps;
}

ref_value *workload_widened(const workload *work, const operation *op, const ref_value *expected,
                            double growth, int64_t reach) {
  const test_case *p = &work->problem;
  const operands with = workload_operands(work, op, NULL);
  const int64_t count = work->count[op->direction];
  ref_value *wide = need(malloc((size_t)count * sizeof *wide));
  memcpy(wide, expected, (size_t)count * sizeof *wide);
  for (int64_t i = 0; i < count; i++) {
    wide[i].terms = terms(p, op->direction);
    wide[i].magnitude += growth * ref_wide_magnitude(&p->conv, op->direction, p->x_shape,
                                                     p->w_shape, with.a, with.b, i, reach);
  }
  return wide;
}
