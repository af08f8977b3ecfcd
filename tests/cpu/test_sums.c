/* Sums of products: how far rounding takes them from float64, which a chain of sums fails, and that
 * their bits are the same for any number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/case.h"
#include "common/cmocka.h"
#include "common/random.h"
#include "ref/ref.h"

static convoy_context *open_with(const char *algorithm, int32_t threads) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "cpu";
  options.algorithm = algorithm;
  options.threads = threads;
  options.tune = CONVOY_NO;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

/* A problem with its operands in the order of the operation, and room for the result. */
typedef struct sums_case {
  test_case p;
  test_array a, b, out;
} sums_case;

static sums_case case_of(const char *text) {
  sums_case c;
  test_random random = {3};
  assert_true(test_case_parse(text, &c.p));
  int64_t count[] = {test_count(c.p.x_shape, c.p.conv.rank), test_count(c.p.w_shape, c.p.conv.rank),
                     test_count(c.p.y_shape, c.p.conv.rank)};
  static const int operands[][3] = {[CONVOY_FORWARD] = {0, 1, 2},
                                    [CONVOY_BACKWARD_DATA] = {2, 1, 0},
                                    [CONVOY_BACKWARD_WEIGHTS] = {0, 2, 1}};
  const int *which = operands[c.p.direction];
  c.a = test_array_new(count[which[0]]);
  c.b = test_array_new(count[which[1]]);
  c.out = test_array_new(count[which[2]]);
  test_fill_reals(&random, c.a.values, c.a.count);
  test_fill_reals(&random, c.b.values, c.b.count);
  test_fill_reals(&random, c.out.values, c.out.count);
  return c;
}

static void free_case(sums_case *c) {
  test_array_free(&c->a);
  test_array_free(&c->b);
  test_array_free(&c->out);
}

/* `beta` is for gradients: what `out` holds times it is added. */
static convoy_status compute(convoy_context *context, const sums_case *c, float beta, float *out,
                             convoy_run *run) {
  const test_case *p = &c->p;
  const float *a = c->a.values, *b = c->b.values;
  if (p->direction == CONVOY_FORWARD)
    return convoy_forward_host(context, &p->conv, p->x_shape, a, p->w_shape, b, NULL, NULL, out,
                               run);
  if (p->direction == CONVOY_BACKWARD_DATA)
    return convoy_backward_data_host(context, &p->conv, p->x_shape, a, p->w_shape, b, beta, out,
                                     run);
  return convoy_backward_weights_host(context, &p->conv, p->x_shape, a, p->w_shape, b, beta, out,
                                      run);
}

/* ------------------------------------------------------------------------------------ errors */

enum { SAMPLES = 2000 };

/* A sum of m blocks of b products of random signs rounds b m / 2 sums of on average half its size
 * and m / 2 of blocks: relative to the sum an error of u sqrt((b + m) / 2) times the 0.41 that
 * rounding takes on average. A chain of n = b m products has u sqrt(n / 2) times that, for 256
 * channels of 3 x 3 more than three times as much. */
static void check_error(const char *algorithm, const char *text, double block) {
  sums_case c = case_of(text);
  convoy_context *context = open_with(algorithm, 1);
  assert_int_equal(compute(context, &c, 0, c.out.values, NULL), CONVOY_OK);
  double errors = 0, values = 0, most = 0;
  int64_t step = c.out.count / SAMPLES + 1;
  for (int64_t i = 0; i < c.out.count; i += step) {
    double value, magnitude;
    int64_t terms;
    ref_element(&c.p.conv, c.p.direction, c.p.x_shape, c.p.w_shape, c.a.values, c.b.values, i,
                &value, &magnitude, &terms);
    double error = (double)c.out.values[i] - value;
    errors += error * error;
    values += value * value;
    most = fmax(most, (double)terms);
  }
  double bound = 0.5 * sqrt((block + most / block) / 2) * 0x1p-24;
  if (!(sqrt(errors / values) <= bound))
    fail_msg("%s by %s: rms error %g, expected %g at most", text, algorithm, sqrt(errors / values),
             bound);
  convoy_close(context);
  free_case(&c);
}

static void errors_are_those_of_blocks(void **state) {
  (void)state;
  static const char *const texts[] = {
      "n1c256h7w7 k256r3s3 pad1 forward",           "n1c256h7w7 k256r3s3 pad1 backward_data",
      "n2c256h14w14 k256r3s3 pad1 forward",         "n2c256h14w14 k256r3s3 pad1 backward_data",
      "n1c256h28w28 k256r3s3 pad1 forward",         "n1c256h28w28 k256r3s3 pad1 backward_data",
      "n2c256h14w14 k256r3s3 stride2 pad1 forward", "n1c1024h14w14 k256r1s1 forward",
      "n1c256h9w40 k48r3s3 pad1 forward",           "n2c64h56w56 k64r3s3 pad1 backward_weights",
      "n2c64h56w56 k64r1s1 backward_weights",       "n2c32h2w3000 k32r1s3 pad0,1 backward_weights",
      "n16c64h14w14 k64r3s3 pad1 backward_weights",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    check_error("cpu.implicit_gemm", texts[i], 128);
  for (size_t i = 9; i < sizeof texts / sizeof texts[0]; i++)
    check_error("cpu.inner_products", texts[i], 256);
  check_error("cpu.depthwise", "n4c32h112w112 k32r3s3 pad1 groups32 backward_weights", 128);
  check_error("cpu.depthwise", "n32c32h14w14 k32r3s3 pad1 groups32 backward_weights", 128);
  check_error("cpu.fully_connected", "n64c4096w1 k32s1 forward", 128);
}

/* ------------------------------------------------------------------------------------- bits */

/* Bits of OpenBLAS follow from how large its products are, and some of its builds serve one thread
 * only. */
static bool is_blas(const convoy_run *run) {
  return strcmp(run->algorithm, "cpu.im2col") == 0;
}

static const int32_t counts[] = {2, 3, 5, 7, 16, 33};

/* Computes with each number of threads, by one row or by the choice of the table, and compares with
 * one thread. */
static void check_bits(const char *algorithm, const char *text) {
  sums_case c = case_of(text);
  float beta = c.p.direction == CONVOY_FORWARD ? 0 : 1;
  size_t bytes = (size_t)c.out.count * sizeof(float);
  float *one = malloc(bytes), *many = malloc(bytes);
  convoy_run first = CONVOY_RUN_INIT, run = CONVOY_RUN_INIT;
  assert_true(one && many);
  memcpy(one, c.out.values, bytes);
  convoy_context *context = open_with(algorithm, 1);
  convoy_status status = compute(context, &c, beta, one, &first);
  convoy_close(context);
  if (!algorithm) assert_int_equal(status, CONVOY_OK);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == CONVOY_OK; i++) {
    memcpy(many, c.out.values, bytes);
    context = open_with(algorithm, counts[i]);
    assert_int_equal(compute(context, &c, beta, many, &run), CONVOY_OK);
    convoy_close(context);
    if (is_blas(&first) || is_blas(&run)) continue;
    if (strcmp(first.algorithm, run.algorithm) != 0)
      fail_msg("%s: %s with one thread, %s with %d", text, first.algorithm, run.algorithm,
               (int)counts[i]);
    if (memcmp(one, many, bytes) != 0)
      fail_msg("%s by %s: other bits with %d threads than with one", text, run.algorithm,
               (int)counts[i]);
  }
  free(one);
  free(many);
  free_case(&c);
}

static const char *const bit_texts[] = {
    "n1c256h7w7 k256r3s3 pad1 forward",
    "n3c40h19w19 k72r3s3 pad1 forward",
    "n3c40h19w19 k72r3s3 pad1 backward_data",
    "n3c40h19w19 k72r3s3 pad1 backward_weights",
    "n1c512h7w7 k512r3s3 pad1 forward",
    "n1c512h7w7 k512r3s3 pad1 backward_data",
    "n1c512h7w7 k512r3s3 pad1 backward_weights",
    "n2c128h28w28 k128r3s3 stride2 pad1 forward",
    "n2c128h28w28 k128r3s3 stride2 pad1 backward_data",
    "n2c128h28w28 k128r3s3 stride2 pad1 backward_weights",
    "n4c256h14w14 k128r1s1 forward",
    "n4c256h14w14 k128r1s1 backward_data",
    "n4c256h14w14 k128r1s1 backward_weights",
    "n4c16h56w56 k32r3s3 pad1 forward",
    "n4c16h56w56 k32r3s3 pad1 backward_data",
    "n4c16h56w56 k32r3s3 pad1 backward_weights",
    "n2c3h96w96 k64r7s7 stride2 pad3 forward",
    "n2c3h96w96 k64r7s7 stride2 pad3 backward_data",
    "n2c3h96w96 k64r7s7 stride2 pad3 backward_weights",
    "n2c64h28w28 k64r3s3 pad1 groups4 backward_weights",
    "n4c96h28w28 k96r3s3 pad1 groups96 backward_weights",
    "n4c96h28w28 k96r3s3 pad1 groups96 backward_data",
    "n8c16h1w2000 k32r1s7 pad0,3 backward_weights",
    "n2c16h129w100 k16r129s1 backward_weights",
    "n1c144h8w460 k64r3s1 pad1,0 backward_weights",
    "n2c8z6h10w10 k16t3r3s3 pad1 backward_weights",
    "n1c256h3w3 k340r3s3 pad1 backward_weights",
    "n32c512w1 k100s1 backward_weights",
    "n32c512w1 k100s1 forward",
    "n2c32h30w30 k32r3s3 pad4 dil4 backward_weights",
};

static void bits_of_every_row(void **state) {
  (void)state;
  static const char *const rows[] = {"cpu.implicit_gemm",   "cpu.winograd",  "cpu.inner_products",
                                     "cpu.fully_connected", "cpu.depthwise", "cpu.direct"};
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    for (size_t i = 0; i < sizeof bit_texts / sizeof bit_texts[0]; i++)
      check_bits(rows[r], bit_texts[i]);
  }
}

static void bits_of_the_choice(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bit_texts / sizeof bit_texts[0]; i++)
    check_bits(NULL, bit_texts[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_are_those_of_blocks),
      cmocka_unit_test(bits_of_every_row),
      cmocka_unit_test(bits_of_the_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
