/* Their rows, the CPU engine's algorithms, and the two tables. */
#include "core/centre.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/row.h"
#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"
#include "problem/move/move.h"
#include "problem/pooling/pooling.h"
#include "problem/program/program.h"
#include "problem/resampling/resampling.h"

/* Its attributes are two of a convolution's. */
cvy_problem centre_problem(int64_t n, int64_t c) {
  return (cvy_problem){.operation = CENTRE, .conv.n = n, .conv.c = c};
}

static int32_t two(const cvy_problem *problem) {
  (void)problem;
  return 2;
}

static cvy_array maps(const cvy_problem *p) {
  return (cvy_array){CONVOY_FLOAT32, true, {p->conv.n, p->conv.c, 1, 1, 1}, {0, 0}};
}

static cvy_array channels(const cvy_problem *p) {
  return (cvy_array){CONVOY_FLOAT32, false, {1, p->conv.c, 1, 1, 1}, {0, 0}};
}

static cvy_array array(const cvy_problem *problem, int32_t i) {
  return i == 0 ? maps(problem) : channels(problem);
}

static bool legal(const cvy_problem *p) {
  return p->conv.n >= 0 && p->conv.n < 1000 && p->conv.c > 0 && p->conv.c < 1000;
}

static cvy_batch coupled(const cvy_problem *problem) {
  (void)problem;
  return CVY_BATCH_COUPLED;
}

static int64_t images(const cvy_problem *problem) {
  return problem->conv.n;
}

static void set_images(cvy_problem *problem, int64_t count) {
  problem->conv.n = count;
}

static float top_of(const cvy_problem *p, const float *x, int64_t c) {
  float top = x[c];
  for (int64_t n = 1; n < p->conv.n; n++)
    if (x[n * p->conv.c + c] > top) top = x[n * p->conv.c + c];
  return top;
}

static float y_of(const cvy_problem *p, const float *x, const float *a, int64_t index) {
  int64_t c = index % p->conv.c;
  float below = x[index] - top_of(p, x, c);
  return below + a[c];
}

void centre_expected(const cvy_problem *p, const float *x, const float *a, float *y, float *top) {
  for (int64_t i = 0; i < p->conv.n * p->conv.c; i++) y[i] = y_of(p, x, a, i);
  for (int64_t c = 0; c < p->conv.c; c++) top[c] = top_of(p, x, c);
}

static cvy_element element(const cvy_problem *p, const cvy_values *from, int32_t output,
                           int64_t index) {
  float value =
      output == 0 ? y_of(p, from->in[0], from->in[1], index) : top_of(p, from->in[0], index);
  return (cvy_element){.value = (double)value, .flushed = (double)value};
}

static double flops(const cvy_problem *p) {
  return 3.0 * (double)(p->conv.n * p->conv.c);
}

static void print(const cvy_problem *p, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  cvy_text_add(&out, "n%lldc%lld centre", (long long)p->conv.n, (long long)p->conv.c);
}

static bool parse(const char *text, cvy_problem *out) {
  long long n, c;
  int end = 0;
  if (sscanf(text, "n%3lldc%3lld centre%n", &n, &c, &end) != 2 || !end || text[end]) return false;
  *out = centre_problem(n, c);
  return legal(out);
}

static void shape_class(const cvy_problem *p, cvy_text *text) {
  cvy_text_add(text, "centre_c%lld", (long long)p->conv.c);
}

static const cvy_family centre_family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_conv_problem),
    .legal = legal,
    .images = images,
    .set_images = set_images,
    .element = element,
    .terms = images,
    .flops = flops,
    .print = print,
    .parse = parse,
    .shape_class = shape_class,
};

static const cvy_operation centre = {
    .name = "centre",
    .family = &centre_family,
    .input_names = {"x", "a"},
    .output_names = {"y", "top"},
    .given = 2,
    .outputs = two,
    .input = array,
    .output = array,
    .batch = coupled,
};

/* ---------------------------------------------------------------------------------- SQUARE */

cvy_problem square_problem(int64_t n, int64_t c) {
  return (cvy_problem){.operation = SQUARE, .conv.n = n, .conv.c = c};
}

static cvy_array map(const cvy_problem *problem, int32_t i) {
  (void)i;
  return maps(problem);
}

void square_expected(const cvy_problem *p, const float *x, const float *a, float *square,
                     float *less) {
  for (int64_t i = 0; i < p->conv.n * p->conv.c; i++) {
    square[i] = x[i] * x[i] + a[i % p->conv.c];
    less[i] = square[i] - x[i];
  }
}

/* In float64, where the engine's own results are rounded. */
static cvy_element square_element(const cvy_problem *p, const cvy_values *from, int32_t output,
                                  int64_t index) {
  double x = (double)from->in[0][index], a = (double)from->in[1][index % p->conv.c];
  double square = x * x + a, value = output == 0 ? square : square - x;
  return (cvy_element){.value = value, .magnitude = x * x + fabs(a) + fabs(x), .flushed = value};
}

static int64_t three(const cvy_problem *problem) {
  (void)problem;
  return 3;
}

static double bound(const cvy_problem *problem, double magnitude) {
  (void)problem;
  return 4.0 * 0x1p-24 * magnitude;
}

static void print_square(const cvy_problem *p, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  cvy_text_add(&out, "n%lldc%lld square", (long long)p->conv.n, (long long)p->conv.c);
}

static void square_class(const cvy_problem *p, cvy_text *text) {
  cvy_text_add(text, "square_c%lld", (long long)p->conv.c);
}

static const cvy_family square_family = {
    .size = CVY_PROBLEM_HEAD + sizeof(cvy_conv_problem),
    .legal = legal,
    .images = images,
    .set_images = set_images,
    .element = square_element,
    .terms = three,
    .flops = flops,
    .print = print_square,
    .shape_class = square_class,
};

static const cvy_operation square = {
    .name = "square",
    .family = &square_family,
    .input_names = {"x", "a"},
    .output_names = {"square", "less"},
    .given = 2,
    .outputs = two,
    .input = array,
    .output = map,
    .bound = bound,
};

/* ---------------------------------------------------------------------------------- tables */

const cvy_operation *const cvy_operations[] = {
    [CVY_CONV_FORWARD] = &cvy_conv_forward,
    [CVY_CONV_BACKWARD_DATA] = &cvy_conv_backward_data,
    [CVY_CONV_BACKWARD_WEIGHTS] = &cvy_conv_backward_weights,
    [CVY_CONV_BACKWARD_BIAS] = &cvy_conv_backward_bias,
    [CVY_PROGRAM] = &cvy_program_operation,
    [CVY_REDUCE] = &cvy_reduce_operation,
    [CVY_MATMUL] = &cvy_matmul_operation,
    [CVY_POOLING_MAX] = &cvy_pooling_max,
    [CVY_POOLING_MAX_BACKWARD] = &cvy_pooling_max_backward,
    [CVY_POOLING_AVERAGE] = &cvy_pooling_average,
    [CVY_POOLING_AVERAGE_BACKWARD] = &cvy_pooling_average_backward,
    [CVY_MOVE_COPY] = &cvy_move_copy_operation,
    [CVY_MOVE_CONCATENATE] = &cvy_move_concatenate_operation,
    [CVY_RESAMPLING_NEAREST] = &cvy_resampling_nearest,
    [CVY_RESAMPLING_NEAREST_BACKWARD] = &cvy_resampling_nearest_backward,
    [CVY_RESAMPLING_LINEAR] = &cvy_resampling_linear,
    [CVY_RESAMPLING_LINEAR_BACKWARD] = &cvy_resampling_linear_backward,
    [CENTRE] = &centre,
    [SQUARE] = &square,
};
const int32_t cvy_operation_count = CVY_COUNT(cvy_operations);

static void run_centre(const cvy_cpu_call *call) {
  centre_expected(call->problem, call->in[0], call->in[1], call->out[0], call->out[1]);
}

static void run_square(const cvy_cpu_call *call) {
  square_expected(call->problem, call->in[0], call->in[1], call->out[0], call->out[1]);
}

static const cvy_cpu_row centre_row = {
    {.name = "cpu.centre", .operations = CVY_OPERATION_BIT(CENTRE)}, run_centre};
static const cvy_cpu_row square_row = {
    {.name = "cpu.square", .operations = CVY_OPERATION_BIT(SQUARE)}, run_square};

const cvy_algorithm *const cvy_cpu_algorithms[] = {&centre_row.algorithm, &square_row.algorithm,
                                                   &cvy_cpu_direct.algorithm, NULL};
