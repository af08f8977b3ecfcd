/* Identities of convolution on layers of real networks, default algorithm, one device:
 *   adjoint    <conv(x, w), dy> = <x, backward_data(dy, w)> = <w, backward_weights(x, dy)>
 *   linearity  conv(x + x', w) = conv(x, w) + conv(x', w)
 *   impulse    a filter with a single 1 copies one input channel, moved by the tap
 *   shift      an input moved by one stride moves the output by one position
 * They hold to the last bit where integers are exact, so rows that are not are left out: their bound is
 * tested in tests/algos and tests/cpu/test_winograd.c.
 * usage: test_props [DEVICE [PROBLEM]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "layer.h"
#include "table.h"

#define SEED 1

static const struct {
  const char *file;
  int step; /* every step-th layer: the tables repeat themselves */
} tables[] = {
    {"yolov8n_b4.csv", 3}, {"resnet50_b8.csv", 3}, {"mobilenetv2_dw_b8.csv", 2}, {"eeg.csv", 1}};

static convoy_context *context;
static convoy_device_info device;
static test_case *problems;
static int problem_count;

static void free_all(test_array *const *arrays, size_t count) {
  for (size_t i = 0; i < count; i++) test_array_free(arrays[i]);
}
#define FREE_ALL(...)                          \
  free_all((test_array *const[]){__VA_ARGS__}, \
           sizeof((test_array *const[]){__VA_ARGS__}) / sizeof(test_array *))

/* Integers below 2^53: exact in a double. */
static double dot(const test_array *a, const test_array *b) {
  double sum = 0.0;
  for (int64_t i = 0; i < a->count; i++) sum += (double)a->values[i] * (double)b->values[i];
  return sum;
}

static void check_adjoint(layer *l) {
  test_array x = layer_data(l, l->x_count), w = layer_data(l, l->w_count);
  test_array dy = layer_data(l, l->y_count);
  test_array y = layer_forward(l, x.values, w.values);
  test_array dx = layer_backward_data(l, dy.values, w.values);
  test_array dw = layer_backward_weights(l, x.values, dy.values);
  const double forward = dot(&y, &dy), data = dot(&x, &dx), weights = dot(&w, &dw);
  if (!(data == forward)) layer_fail(l, "adjoint of backward_data", 0, data, forward);
  if (!(weights == forward)) layer_fail(l, "adjoint of backward_weights", 0, weights, forward);
  FREE_ALL(&x, &w, &dy, &y, &dx, &dw);
}

static void check_linearity(layer *l) {
  test_array a = layer_data(l, l->x_count), b = layer_data(l, l->x_count);
  test_array sum = test_array_new(l->x_count), w = layer_data(l, l->w_count);
  for (int64_t i = 0; i < sum.count; i++) sum.values[i] = a.values[i] + b.values[i];
  test_array of_a = layer_forward(l, a.values, w.values);
  test_array of_b = layer_forward(l, b.values, w.values);
  test_array of_sum = layer_forward(l, sum.values, w.values);
  for (int64_t i = 0; i < of_sum.count; i++) {
    const float expected = of_a.values[i] + of_b.values[i];
    if (!(of_sum.values[i] == expected))
      layer_fail(l, "linearity", i, (double)of_sum.values[i], (double)expected);
  }
  FREE_ALL(&a, &b, &sum, &w, &of_a, &of_b, &of_sum);
}

/* The place of a single 1 in the weights, rank 2. */
typedef struct tap {
  int64_t k, c, r, s;
} tap;

static tap random_tap(layer *l) {
  const int64_t *w = l->problem.w_shape;
  return (tap){test_between(&l->random, 0, w[0] - 1), test_between(&l->random, 0, w[1] - 1),
               test_between(&l->random, 0, w[2] - 1), test_between(&l->random, 0, w[3] - 1)};
}

/* What output (k, oh, ow) sees through the tap. */
static float seen(const layer *l, const test_array *x, const tap *t, int64_t k, int64_t oh,
                  int64_t ow) {
  const test_case *p = &l->problem;
  const int64_t *xs = p->x_shape, *ws = p->w_shape;
  const int64_t channel = k / (ws[0] / p->conv.groups) * ws[1] + t->c;
  const int64_t h = oh * p->conv.stride[0] - p->conv.pad_begin[0] + t->r * p->conv.dilation[0];
  const int64_t w = ow * p->conv.stride[1] - p->conv.pad_begin[1] + t->s * p->conv.dilation[1];
  if (k != t->k || h < 0 || h >= xs[2] || w < 0 || w >= xs[3]) return 0.0f;
  return x->values[(channel * xs[2] + h) * xs[3] + w];
}

static void check_impulse(layer *l) {
  const int64_t *ys = l->problem.y_shape, *ws = l->problem.w_shape;
  const tap t = random_tap(l);
  test_array x = layer_data(l, l->x_count), w = test_array_new(l->w_count);
  memset(w.values, 0, (size_t)w.count * sizeof(float));
  w.values[((t.k * ws[1] + t.c) * ws[2] + t.r) * ws[3] + t.s] = 1.0f;
  test_array y = layer_forward(l, x.values, w.values);
  for (int64_t i = 0; i < y.count; i++) {
    const float expected = seen(l, &x, &t, i / (ys[2] * ys[3]), i / ys[3] % ys[2], i % ys[3]);
    if (!(y.values[i] == expected))
      layer_fail(l, "impulse", i, (double)y.values[i], (double)expected);
  }
  FREE_ALL(&x, &w, &y);
}

/* x moved right by one stride; what comes in on the left is 0. */
static test_array moved_right(const layer *l, const test_array *x) {
  const int64_t width = l->problem.x_shape[3], by = l->problem.conv.stride[1];
  test_array moved = test_array_new(x->count);
  for (int64_t i = 0; i < x->count; i++)
    moved.values[i] = i % width < by ? 0.0f : x->values[i - by];
  return moved;
}

/* Whether output column ow sees only columns by.. and up to the last: no padding, nothing new. */
static bool sees_moved_only(const layer *l, int64_t ow) {
  const test_case *p = &l->problem;
  const int64_t first = ow * p->conv.stride[1] - p->conv.pad_begin[1];
  const int64_t last = first + (p->w_shape[3] - 1) * p->conv.dilation[1];
  return first >= p->conv.stride[1] && last < p->x_shape[3];
}

static void check_shift(layer *l) {
  const int64_t width = l->problem.y_shape[3];
  test_array x = layer_data(l, l->x_count), w = layer_data(l, l->w_count);
  test_array moved = moved_right(l, &x);
  test_array y = layer_forward(l, x.values, w.values);
  test_array y_moved = layer_forward(l, moved.values, w.values);
  for (int64_t i = 0; i < y.count; i++)
    if (sees_moved_only(l, i % width) && !(y_moved.values[i] == y.values[i - 1]))
      layer_fail(l, "shift", i, (double)y_moved.values[i], (double)y.values[i - 1]);
  FREE_ALL(&x, &w, &moved, &y, &y_moved);
}

static void for_all(void (*check)(layer *)) {
  for (int i = 0; i < problem_count; i++) {
    layer l = layer_make(context, device.id, &problems[i], SEED + (uint64_t)i);
    check(&l);
  }
}

static void adjoint(void **state) {
  (void)state;
  for_all(check_adjoint);
}

static void linearity(void **state) {
  (void)state;
  for_all(check_linearity);
}

static void impulse(void **state) {
  (void)state;
  for_all(check_impulse);
}

static void shift(void **state) {
  (void)state;
  for_all(check_shift);
}

static bool add_problems(const test_case *more, int count) {
  test_case *grown = realloc(problems, (size_t)(problem_count + count) * sizeof *grown);
  if (grown == NULL) return false;
  problems = grown;
  memcpy(problems + problem_count, more, (size_t)count * sizeof *more);
  problem_count += count;
  return true;
}

static bool read_tables(void) {
  bool ok = true;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0] && ok; i++) {
    char path[4096];
    test_case *layers = NULL;
    snprintf(path, sizeof path, "%s/%s", TEST_TABLES, tables[i].file);
    const int count = table_read(path, tables[i].step, &layers);
    ok = count > 0 && add_problems(layers, count);
    free(layers);
  }
  return ok;
}

static bool read_problem(const char *text) {
  test_case one;
  if (!test_case_parse(text, &one)) return false;
  if (one.conv.rank == 2 && !one.conv.transposed && one.x_shape[0] == 1)
    return add_problems(&one, 1);
  fprintf(stderr, "'%s': only rank 2, batch 1, not transposed\n", text);
  return false;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(adjoint), cmocka_unit_test(linearity),
                                     cmocka_unit_test(impulse), cmocka_unit_test(shift)};
  if (!(argc > 2 ? read_problem(argv[2]) : read_tables())) return EXIT_FAILURE;
  setenv("CONVOY_WINOGRAD", "0", 1);
  const int opened = test_open(argc > 1 ? argv[1] : NULL, &context, &device);
  if (opened != 0) return opened;
  printf("%d layers on %s (%s)\n", problem_count, device.id, device.name);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  convoy_close(context);
  free(problems);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
