/* The public functions on programs, on the device of the first argument ("cpu", "pocl"): values,
 * extents that are repeated, types, gradients, random numbers, and what is refused. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "convoy/convoy.h"

static const char *device_name;
static convoy_context *context;

static int open_context(void **state) {
  (void)state;
  convoy_device_info device;
  return test_open(device_name, &context, &device);
}

static int close_context(void **state) {
  (void)state;
  convoy_close(context);
  return 0;
}

/* --------------------------------------------------------------------------------- tensors */

typedef struct array {
  convoy_tensor *tensor;
  int64_t count;
  float *value;
} array;

static int64_t product(int dims, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < dims; i++) count *= shape[i];
  return count;
}

#define SHAPE(...)                                                               \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { \
    __VA_ARGS__                                                                  \
  }

/* Numbers between -2 and 2, all different. */
static array numbers(int dims, const int64_t *shape) {
  static uint32_t next = 1;
  array made = {.count = product(dims, shape)};
  assert_int_equal(convoy_tensor_new(context, dims, shape, &made.tensor), CONVOY_OK);
  made.value = calloc((size_t)made.count + 1, sizeof *made.value);
  for (int64_t i = 0; i < made.count; i++) {
    next = next * 1664525u + 1013904223u;
    made.value[i] = (float)(next >> 8) * 0x1p-22f - 2.0f;
  }
  assert_int_equal(convoy_tensor_write(made.tensor, made.value, made.count), CONVOY_OK);
  return made;
}

static void read_back(array *of) {
  assert_int_equal(convoy_tensor_read(of->tensor, of->value, of->count), CONVOY_OK);
}

static void drop(array *of, int count) {
  for (int i = 0; i < count; i++) {
    convoy_tensor_free(of[i].tensor);
    free(of[i].value);
  }
}

static convoy_program *parse(const char *text) {
  convoy_program *program = NULL;
  if (convoy_program_parse(text, &program)) fail_msg("%s: %s", text, convoy_last_error());
  return program;
}

/* Inputs first, then outputs. */
static convoy_status apply_program(const convoy_program *program, const array *operands) {
  const convoy_tensor *in[12] = {NULL};
  convoy_tensor *out[4] = {NULL};
  int at = 0;
  for (int i = 0; convoy_program_input(program, i); i++) in[i] = operands[at++].tensor;
  for (int k = 0; convoy_program_result(program, k); k++) out[k] = operands[at++].tensor;
  return convoy_apply(context, program, in, out, NULL);
}

static convoy_status apply(const char *text, const array *operands) {
  convoy_program *program = parse(text);
  convoy_status status = apply_program(program, operands);
  convoy_program_free(program);
  return status;
}

static void assert_near(float got, double wanted, double error) {
  if (!(fabs((double)got - wanted) <= error)) fail_msg("%.9g, not %.9g", (double)got, wanted);
}

/* ---------------------------------------------------------------------------------- values */

static void programs_have_names(void **state) {
  (void)state;
  int count = 0;
  for (const char *name; (name = convoy_program_name(count)); count++) {
    convoy_program *program;
    assert_int_equal(convoy_program_named(name, &program), CONVOY_OK);
    assert_non_null(convoy_program_input(program, 0));
    assert_non_null(convoy_program_result(program, 0));
    convoy_program_free(program);
  }
  assert_true(count > 30);
  convoy_program *none;
  assert_int_equal(convoy_program_named("nothing", &none), CONVOY_ERR_NOT_FOUND);
  assert_null(convoy_program_name(-1));
}

static void thin_functions_compute_what_they_say(void **state) {
  (void)state;
  array x = numbers(SHAPE(2, 3, 5, 7)), b = numbers(SHAPE(2, 3, 5, 7)),
        y = numbers(SHAPE(2, 3, 5, 7));
  convoy_run run = CONVOY_RUN_INIT;
  assert_int_equal(convoy_relu(context, x.tensor, y.tensor, &run), CONVOY_OK);
  assert_non_null(strstr(run.algorithm, ".program"));
  read_back(&y);
  for (int i = 0; i < x.count; i++) assert_true(y.value[i] == (x.value[i] > 0 ? x.value[i] : 0.0f));
  assert_int_equal(convoy_silu(context, x.tensor, y.tensor, NULL), CONVOY_OK);
  read_back(&y);
  for (int i = 0; i < x.count; i++)
    assert_near(y.value[i], (double)x.value[i] / (1 + exp(-(double)x.value[i])), 4e-7);
  assert_int_equal(convoy_sigmoid(context, x.tensor, y.tensor, NULL), CONVOY_OK);
  read_back(&y);
  for (int i = 0; i < x.count; i++)
    assert_near(y.value[i], 1 / (1 + exp(-(double)x.value[i])), 2e-7);
  assert_int_equal(convoy_add(context, x.tensor, b.tensor, y.tensor, NULL), CONVOY_OK);
  read_back(&y);
  for (int i = 0; i < x.count; i++) assert_true(y.value[i] == x.value[i] + b.value[i]);
  assert_int_equal(convoy_multiply(context, x.tensor, b.tensor, y.tensor, NULL), CONVOY_OK);
  read_back(&y);
  for (int i = 0; i < x.count; i++) assert_true(y.value[i] == x.value[i] * b.value[i]);
  drop((array[]){x, b, y}, 3);
}

static void inputs_are_repeated_where_they_have_one_place(void **state) {
  (void)state;
  array all[] = {numbers(SHAPE(2, 3, 4, 5)), numbers(SHAPE(3)),         numbers(SHAPE(2, 3)),
                 numbers(SHAPE(1, 1, 4, 5)), numbers(SHAPE(1)),         numbers(SHAPE(1, 3, 1, 5)),
                 numbers(SHAPE(2, 1, 4, 1)), numbers(SHAPE(2, 3, 4, 5))};
  assert_int_equal(apply("y = a + (b + (c + (d + (e + (f + g)))))", all), CONVOY_OK);
  read_back(&all[7]);
  for (int i = 0; i < 120; i++) {
    int w = i % 5, h = i / 5 % 4, c = i / 20 % 3, n = i / 60;
    float wanted = all[5].value[c * 5 + w] + all[6].value[n * 4 + h];
    wanted = all[2].value[n * 3 + c] + (all[3].value[h * 5 + w] + (all[4].value[0] + wanted));
    wanted = all[0].value[i] + (all[1].value[c] + wanted);
    assert_true(all[7].value[i] == wanted);
  }
  drop(all, 8);
}

static void results_may_be_inputs(void **state) {
  (void)state;
  array g = numbers(SHAPE(64, 3, 3, 3)), rate = numbers(SHAPE(1)), momentum = numbers(SHAPE(1)),
        v = numbers(SHAPE(64, 3, 3, 3)), w = numbers(SHAPE(64, 3, 3, 3));
  float *v_before = malloc((size_t)v.count * 4), *w_before = malloc((size_t)w.count * 4);
  memcpy(v_before, v.value, (size_t)v.count * 4);
  memcpy(w_before, w.value, (size_t)w.count * 4);
  convoy_program *program = parse("v = momentum * v + g; w = w - rate * v");
  assert_string_equal(convoy_program_input(program, 0), "momentum");
  assert_string_equal(convoy_program_result(program, 1), "w");
  assert_null(convoy_program_input(program, 5));
  assert_null(convoy_program_result(program, 2));
  const convoy_tensor *in[] = {momentum.tensor, v.tensor, g.tensor, w.tensor, rate.tensor};
  convoy_tensor *out[] = {v.tensor, w.tensor};
  assert_int_equal(convoy_apply(context, program, in, out, NULL), CONVOY_OK);
  read_back(&v);
  read_back(&w);
  for (int i = 0; i < v.count; i++) {
    float product = momentum.value[0] * v_before[i], next = product + g.value[i];
    float step = rate.value[0] * next;
    assert_true(v.value[i] == next && w.value[i] == w_before[i] - step);
  }
  convoy_program_free(program);
  free(v_before);
  free(w_before);
  drop((array[]){g, rate, momentum, v, w}, 5);
}

static void reductions_give_statistics(void **state) {
  (void)state;
  array all[] = {numbers(SHAPE(4, 6, 20, 30)), numbers(SHAPE(6)), numbers(SHAPE(1, 6, 1, 1))};
  for (int i = 0; i < all[0].count; i++) all[0].value[i] += 1000.0f;
  assert_int_equal(convoy_tensor_write(all[0].tensor, all[0].value, all[0].count), CONVOY_OK);
  assert_int_equal(
      apply("mean = mean over n z h w of x; variance = variance over n z h w of x", all),
      CONVOY_OK);
  read_back(&all[1]);
  read_back(&all[2]);
  for (int c = 0; c < 6; c++) {
    double sum = 0, squares = 0;
    for (int i = 0; i < 2400; i++) sum += (double)all[0].value[i / 600 * 3600 + c * 600 + i % 600];
    for (int i = 0; i < 2400; i++) {
      double from = (double)all[0].value[i / 600 * 3600 + c * 600 + i % 600] - sum / 2400;
      squares += from * from;
    }
    assert_near(all[1].value[c], sum / 2400, 1e-3);
    assert_near(all[2].value[c], squares / 2400, 1e-4 * squares / 2400);
  }
  drop(all, 3);
}

static void labels_and_masks_are_inputs(void **state) {
  (void)state;
  array x = numbers(SHAPE(3, 4, 2, 2)), y = numbers(SHAPE(3, 4, 2, 2));
  convoy_tensor *label, *mask;
  convoy_dtype dtype;
  const int32_t labels[3] = {2, 0, 3};
  const uint8_t masks[48] = {1, 0, 255, 3};
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_INT32, 2, (int64_t[]){3, 1}, &label),
                   CONVOY_OK);
  assert_int_equal(
      convoy_tensor_new_typed(context, CONVOY_UINT8, 4, (int64_t[]){3, 4, 2, 2}, &mask), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(label, labels, 3), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(mask, masks, 48), CONVOY_OK);
  assert_int_equal(convoy_tensor_dtype(mask, &dtype), CONVOY_OK);
  assert_int_equal(dtype, CONVOY_UINT8);
  convoy_program *program = parse("y = (index(c) == label ? 100 : 0) + x * mask");
  const convoy_tensor *in[] = {label, x.tensor, mask};
  assert_int_equal(convoy_apply(context, program, in, &y.tensor, NULL), CONVOY_OK);
  read_back(&y);
  for (int i = 0; i < 48; i++) {
    float hot = i / 4 % 4 == labels[i / 16] ? 100.0f : 0.0f, product = x.value[i] * masks[i];
    assert_true(y.value[i] == hot + product);
  }
  uint8_t again[48];
  assert_int_equal(convoy_tensor_read(mask, again, 48), CONVOY_OK);
  assert_memory_equal(again, masks, 48);
  assert_int_equal(convoy_relu(context, x.tensor, mask, NULL), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(convoy_last_error(), "float32"));
  convoy_program_free(program);
  convoy_tensor_free(label);
  convoy_tensor_free(mask);
  drop((array[]){x, y}, 2);
}

/* ------------------------------------------------------------------------------- gradients */

static void gradients_are_programs(void **state) {
  (void)state;
  array x = numbers(SHAPE(2, 3, 7)), dy = numbers(SHAPE(2, 3, 7)), dx = numbers(SHAPE(2, 3, 7));
  convoy_program *silu, *gradient;
  assert_int_equal(convoy_program_named("silu", &silu), CONVOY_OK);
  assert_int_equal(convoy_program_gradient(silu, "x", &gradient), CONVOY_OK);
  assert_string_equal(convoy_program_input(gradient, 0), "x");
  assert_string_equal(convoy_program_input(gradient, 1), "d_y");
  assert_string_equal(convoy_program_result(gradient, 0), "d_x");
  assert_int_equal(apply_program(gradient, (array[]){x, dy, dx}), CONVOY_OK);
  read_back(&dx);
  for (int i = 0; i < x.count; i++) {
    double at = (double)x.value[i], s = 1 / (1 + exp(-at));
    assert_near(dx.value[i], (double)dy.value[i] * s * (1 + at * (1 - s)), 2e-6);
  }
  convoy_program *none;
  assert_int_equal(convoy_program_gradient(silu, "z", &none), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(convoy_last_error(), "\"z\""));
  convoy_program_free(silu);
  convoy_program_free(gradient);
  drop((array[]){x, dy, dx}, 3);
}

static void sums_give_their_gradient_to_each_element(void **state) {
  (void)state;
  array x = numbers(SHAPE(2, 3, 4, 4)), d = numbers(SHAPE(3)), dx = numbers(SHAPE(2, 3, 4, 4));
  convoy_program *sums = parse("s = sum over n z h w of x * x"), *gradient, *none;
  assert_int_equal(convoy_program_gradient(sums, NULL, &gradient), CONVOY_OK);
  assert_int_equal(apply_program(gradient, (array[]){x, d, dx}), CONVOY_OK);
  read_back(&dx);
  for (int i = 0; i < x.count; i++)
    assert_near(dx.value[i], 2.0 * (double)x.value[i] * (double)d.value[i / 16 % 3], 1e-6);
  convoy_program_free(sums);
  convoy_program_free(gradient);
  sums = parse("s = maximum over c of x");
  assert_int_equal(convoy_program_gradient(sums, NULL, &none), CONVOY_ERR_UNSUPPORTED);
  convoy_program_free(sums);
  drop((array[]){x, d, dx}, 3);
}

/* By text, for the inputs in `of`. */
static void expect_no_gradient(const char *text, const char *of, convoy_status status,
                               const char *sentence) {
  convoy_program *program = parse(text), *none = NULL;
  convoy_status got = convoy_program_gradient(program, of, &none);
  if (got != status || none) fail_msg("%s: %s", text, convoy_status_name(got));
  if (!strstr(convoy_last_error(), sentence))
    fail_msg("\"%s\" is not in \"%s\"", sentence, convoy_last_error());
  convoy_program_free(program);
}

static void gradients_that_there_are_not(void **state) {
  (void)state;
  expect_no_gradient("y = a + b + c + d + e + f + g + h + i", NULL, CONVOY_ERR_ARGUMENT,
                     "of 9 inputs are");
  expect_no_gradient("y = a + b", "", CONVOY_ERR_ARGUMENT, "of 0 inputs are");
  expect_no_gradient("y = a + b", "  ", CONVOY_ERR_ARGUMENT, "of 0 inputs are");
  expect_no_gradient("y = a + b", " a  c ", CONVOY_ERR_ARGUMENT, "no input \"c\"");
  expect_no_gradient("y = x * d_y", "x", CONVOY_ERR_ARGUMENT, "reads d_y for the result y");
  expect_no_gradient("s = sum over n of x; t = sum over n of x", "x", CONVOY_ERR_UNSUPPORTED,
                     "t is the same sum as s");
  expect_no_gradient("y = a234567890123456789012345678901 * 2", NULL, CONVOY_ERR_ARGUMENT,
                     "longer than 31 characters");
}

/* ------------------------------------------------------------------------------------- texts */

enum { FIVE = CONVOY_MAX_DIMS };

static void check_shape(const int64_t *got, const int64_t *wanted) {
  for (int i = 0; i < FIVE; i++) assert_int_equal(got[i], wanted[i]);
}

/* What a text says is what carries it out. */
static void operations_have_texts(void **state) {
  (void)state;
  convoy_program *program;
  convoy_dtype dtypes[CONVOY_MAX_OPERANDS];
  int64_t shapes[CONVOY_MAX_OPERANDS][FIVE];
  assert_int_equal(
      convoy_parse_operation("out = image * mask + b on n2c3h4w5 mask:position:uint8 b:channel",
                             &program, dtypes, shapes),
      CONVOY_OK);
  assert_string_equal(convoy_program_input(program, 1), "mask");
  assert_string_equal(convoy_program_result(program, 0), "out");
  assert_int_equal(dtypes[0], CONVOY_FLOAT32);
  assert_int_equal(dtypes[1], CONVOY_UINT8);
  check_shape(shapes[0], (int64_t[]){2, 3, 1, 4, 5});
  check_shape(shapes[1], (int64_t[]){1, 1, 1, 4, 5});
  check_shape(shapes[2], (int64_t[]){1, 3, 1, 1, 1});
  check_shape(shapes[3], (int64_t[]){2, 3, 1, 4, 5});
  const convoy_tensor *in[3] = {NULL};
  convoy_tensor *all[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(convoy_tensor_new_typed(context, dtypes[i], FIVE, shapes[i], &all[i]),
                     CONVOY_OK);
    if (i < 3) in[i] = all[i];
  }
  assert_int_equal(convoy_apply(context, program, in, &all[3], NULL), CONVOY_OK);
  for (int i = 0; i < 4; i++) convoy_tensor_free(all[i]);
  convoy_program_free(program);
  assert_int_equal(
      convoy_parse_operation("s = sum over n h w of x * x on n2c3h4w5", &program, dtypes, shapes),
      CONVOY_OK);
  check_shape(shapes[1], (int64_t[]){1, 3, 1, 1, 1});
  convoy_program_free(program);
  assert_int_equal(convoy_parse_operation("y = max(x, 0) on n0c3w4", &program, dtypes, shapes),
                   CONVOY_OK);
  check_shape(shapes[0], (int64_t[]){0, 3, 1, 1, 4});
  convoy_program_free(program);
}

static void wrong_texts_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    convoy_status status;
    const char *sentence;
  } wrong[] = {
      {"y = max(x, 0)", CONVOY_ERR_ARGUMENT, "expected \" on \""},
      {"y = max(x, 0) on n2c3 z:channel", CONVOY_ERR_ARGUMENT, "an operand's name"},
      {"y = max(x, 0 on n2c3", CONVOY_ERR_ARGUMENT, "column"},
      {"y = x on n2c3 x:strides=6,2,0,0,0", CONVOY_ERR_UNSUPPORTED, "no tensors"},
      {"y = x on n2c3 y:strides=6,1,0,0,0", CONVOY_ERR_UNSUPPORTED, "no tensors"},
      {"y = x on n2c3 y:channel", CONVOY_ERR_ARGUMENT, ":strides="},
      {"s = sum over n w of x on n2c300w900 piece=4096", CONVOY_ERR_UNSUPPORTED, "no tensors"},
      {"y = x on n9000000000c9000000000", CONVOY_ERR_ARGUMENT, ""},
  };
  convoy_dtype dtypes[CONVOY_MAX_OPERANDS];
  int64_t shapes[CONVOY_MAX_OPERANDS][FIVE];
  convoy_program *program;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    convoy_status status = convoy_parse_operation(wrong[i].text, &program, dtypes, shapes);
    if (status != wrong[i].status || !strstr(convoy_last_error(), wrong[i].sentence))
      fail_msg("%s: %d %s", wrong[i].text, (int)status, convoy_last_error());
  }
  assert_int_equal(convoy_parse_operation("y = x on n2", &program, NULL, shapes),
                   CONVOY_ERR_ARGUMENT);
}

/* ------------------------------------------------------------------------------------ random */

static void random_numbers_follow_the_seed(void **state) {
  (void)state;
  array all[4];
  for (int i = 0; i < 4; i++) all[i] = numbers(SHAPE(5, 100));
  assert_int_equal(convoy_seed(context, 7), CONVOY_OK);
  for (int i = 0; i < 2; i++) assert_int_equal(apply("y = random(0)", &all[i]), CONVOY_OK);
  assert_int_equal(convoy_seed(context, 7), CONVOY_OK);
  assert_int_equal(apply("y = random(0)", &all[2]), CONVOY_OK);
  assert_int_equal(convoy_seed(context, 8), CONVOY_OK);
  assert_int_equal(apply("y = random(0)", &all[3]), CONVOY_OK);
  double sum = 0;
  for (int i = 0; i < 4; i++) read_back(&all[i]);
  for (int i = 0; i < 500; i++) sum += (double)all[0].value[i];
  assert_near((float)(sum / 500), 0.5, 0.06);
  assert_memory_equal(all[0].value, all[2].value, 2000);
  assert_memory_not_equal(all[0].value, all[1].value, 2000);
  assert_memory_not_equal(all[0].value, all[3].value, 2000);
  drop(all, 4);
}

/* ----------------------------------------------------------------------------------- nothing */

static void of_nothing_there_are_sums(void **state) {
  (void)state;
  array all[] = {numbers(SHAPE(0, 3, 4)), numbers(SHAPE(3)), numbers(SHAPE(3)), numbers(SHAPE(3))};
  array y = numbers(SHAPE(0, 3, 4));
  assert_int_equal(
      apply("s = sum over n w of x; m = maximum over n w of x; a = mean over n w of x", all),
      CONVOY_OK);
  for (int k = 1; k < 4; k++) read_back(&all[k]);
  for (int c = 0; c < 3; c++) {
    assert_true(all[1].value[c] == 0.0f && all[2].value[c] == -INFINITY);
    assert_true(isnan(all[3].value[c]));
  }
  assert_int_equal(convoy_relu(context, all[0].tensor, y.tensor, NULL), CONVOY_OK);
  read_back(&y);
  drop(all, 4);
  drop(&y, 1);
}

/* ----------------------------------------------------------------------------------- refused */

static void expect(const char *text, const array *operands, convoy_status status,
                   const char *sentence) {
  assert_int_equal(apply(text, operands), status);
  if (!strstr(convoy_last_error(), sentence))
    fail_msg("\"%s\" is not in \"%s\"", sentence, convoy_last_error());
}

static void wrong_extents_are_named(void **state) {
  (void)state;
  array x = numbers(SHAPE(2, 3, 4, 5)), s = numbers(SHAPE(5)), y = numbers(SHAPE(2, 3, 4, 5)),
        z = numbers(SHAPE(2, 3, 4));
  expect("y = x * s", (array[]){x, s, y}, CONVOY_ERR_SHAPE, "s has extent 5 along c");
  expect("y = x; z = x", (array[]){x, y, z}, CONVOY_ERR_SHAPE, "z and y");
  expect("y = x; z = x", (array[]){x, y, y}, CONVOY_ERR_ARGUMENT, "y and z are the same tensor");
  expect("t = sum over c of x", (array[]){x, s}, CONVOY_ERR_SHAPE, "t has not the extents n2 c1");
  expect("t = sum over c of x * s", (array[]){x, s, y}, CONVOY_ERR_SHAPE, "s has extent 5 along c");
  expect("y = x", (array[]){x, {0}}, CONVOY_ERR_ARGUMENT, "y is NULL");
  convoy_program *none;
  assert_int_equal(convoy_program_parse("y = x +", &none), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(convoy_last_error(), "8"));
  assert_int_equal(convoy_program_parse(NULL, &none), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_relu(context, NULL, y.tensor, NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_apply(context, NULL, NULL, NULL, NULL), CONVOY_ERR_ARGUMENT);
  assert_int_equal(convoy_apply(NULL, NULL, NULL, NULL, NULL), CONVOY_ERR_ARGUMENT);
  drop((array[]){x, s, y, z}, 4);
}

static void convolutions_refuse_other_types(void **state) {
  (void)state;
  array w = numbers(SHAPE(2, 1, 1)), y = numbers(SHAPE(1, 2, 4));
  convoy_conv conv = CONVOY_CONV_INIT(1);
  convoy_tensor *x;
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_INT32, 3, (int64_t[]){1, 1, 4}, &x),
                   CONVOY_OK);
  assert_int_equal(convoy_forward(context, &conv, x, w.tensor, NULL, NULL, y.tensor, NULL),
                   CONVOY_ERR_ARGUMENT);
  assert_string_equal(convoy_last_error(), "x is int32, not float32");
  convoy_tensor_free(x);
  assert_int_equal(convoy_tensor_new_typed(context, (convoy_dtype)3, 3, (int64_t[]){1, 1, 4}, &x),
                   CONVOY_ERR_ARGUMENT);
  drop((array[]){w, y}, 2);
}

int main(int argc, char **argv) {
  device_name = argc > 1 ? argv[1] : "cpu";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_have_names),
      cmocka_unit_test(thin_functions_compute_what_they_say),
      cmocka_unit_test(inputs_are_repeated_where_they_have_one_place),
      cmocka_unit_test(results_may_be_inputs),
      cmocka_unit_test(reductions_give_statistics),
      cmocka_unit_test(labels_and_masks_are_inputs),
      cmocka_unit_test(gradients_are_programs),
      cmocka_unit_test(sums_give_their_gradient_to_each_element),
      cmocka_unit_test(gradients_that_there_are_not),
      cmocka_unit_test(operations_have_texts),
      cmocka_unit_test(wrong_texts_are_refused),
      cmocka_unit_test(random_numbers_follow_the_seed),
      cmocka_unit_test(of_nothing_there_are_sums),
      cmocka_unit_test(wrong_extents_are_named),
      cmocka_unit_test(convolutions_refuse_other_types),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
