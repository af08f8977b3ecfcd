/* Programs: NULLs, texts and names that are none, however long, operands that do not fit, tensors
 * of others; outputs keep their values. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared_context.h"

enum { HUGE_TEXT = 100 * 1000 * 1000, MOST = 16 };

static convoy_program *parse(const char *text) {
  convoy_program *program = NULL;
  if (convoy_program_parse(text, &program)) fail_msg("%s: %s", text, convoy_last_error());
  return program;
}

static convoy_tensor *filled(convoy_context *owner, int64_t extent, float value) {
  convoy_tensor *tensor = NULL;
  float values[MOST];
  for (int i = 0; i < MOST; i++) values[i] = value;
  if (convoy_tensor_new(owner, 1, &extent, &tensor) || convoy_tensor_write(tensor, values, extent))
    fail_msg("%s", convoy_last_error());
  return tensor;
}

static void expect_all(convoy_tensor *tensor, int64_t count, float value) {
  float values[MOST];
  assert_int_equal(convoy_tensor_read(tensor, values, count), CONVOY_OK);
  for (int64_t i = 0; i < count; i++) assert_true(values[i] == value);
}

/* ------------------------------------------------------------------------------------ making */

static void expect_no_program(const char *what, const char *text, const char *mentions) {
  convoy_program *program = NULL;
  expect_refusal(what, convoy_program_parse(text, &program), CONVOY_ERR_ARGUMENT, mentions);
  assert_null(program);
}

static void null_pointers_are_named(void **state) {
  (void)state;
  convoy_program *program = parse("y = x"), *out = NULL;
  convoy_dtype dtype = CONVOY_FLOAT32;
  char text[64];
  expect_refusal("text", convoy_program_parse(NULL, &out), CONVOY_ERR_ARGUMENT, "text");
  expect_refusal("out", convoy_program_parse("y = x", NULL), CONVOY_ERR_ARGUMENT, "out");
  expect_refusal("name", convoy_program_named(NULL, &out), CONVOY_ERR_ARGUMENT, "name");
  expect_refusal("out", convoy_program_named("relu", NULL), CONVOY_ERR_ARGUMENT, "out");
  expect_refusal("program", convoy_program_gradient(NULL, NULL, &out), CONVOY_ERR_ARGUMENT,
                 "program");
  expect_refusal("out", convoy_program_gradient(program, "x", NULL), CONVOY_ERR_ARGUMENT, "out");
  expect_refusal("program", convoy_program_text(NULL, text, sizeof text), CONVOY_ERR_ARGUMENT,
                 "program");
  expect_refusal("text", convoy_program_text(program, NULL, 10), CONVOY_ERR_ARGUMENT, "text");
  expect_refusal("tensor", convoy_tensor_dtype(NULL, &dtype), CONVOY_ERR_ARGUMENT, "tensor");
  expect_refusal("context", convoy_seed(NULL, 1), CONVOY_ERR_ARGUMENT, "context");
  convoy_program_free(NULL);
  convoy_program_free(program);
  assert_null(out);
}

static void numbers_past_the_end_have_no_name(void **state) {
  (void)state;
  static const int32_t past[] = {-1, INT32_MIN, 2, 12, INT32_MAX};
  convoy_program *program = parse("y = a + b; z = a * b");
  for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
    assert_null(convoy_program_input(program, past[i]));
    assert_null(convoy_program_result(program, past[i]));
    assert_null(convoy_program_input(NULL, past[i]));
    assert_null(convoy_program_result(NULL, past[i]));
  }
  assert_null(convoy_program_input(NULL, 0));
  assert_null(convoy_program_name(INT32_MIN));
  assert_null(convoy_program_name(INT32_MAX));
  convoy_program_free(program);
}

static void texts_that_are_none_are_told(void **state) {
  (void)state;
  static const struct {
    const char *text, *mentions;
  } cases[] = {
      {"", "column 1"},
      {";", "column 1"},
      {"y", "column 2"},
      {"y = x y", "column 7"},
      {"y = x\n\n\1", "column 8"},
      {"y = \xff\xfe", "column 5"},
      {"y = 1e39", "column 5"},
      {"y = 1e-46", "column 5"},
      {"y = %n%n%s", "column 5"},
      {"y = exp", "column"},
      {"y = exp()", "column 9"},
      {"y = exp(x, x)", "column"},
      {"y = index(q)", "column"},
      {"y = index(-1)", "column"},
      {"y = random(64)", "column"},
      {"y = random(99999999999999999999)", "column"},
      {"sum = sum over", "column"},
      {"y = sum over n n of x", "column"},
      {"y = sum over n of x; z = x", "column"},
      {"y = sum over n of x; z = sum over c of x", "column"},
      {"a=x; b=x; c=x; d=x; e=x; f=x; g=x; h=x; i=x", "column 41"},
      {"y = a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q", "column 37"},
      {"input x, x; y = x", "column 10"},
      {"input x; y = z", "column 14"},
      {"y = a23456789012345678901234567890123", "31"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    expect_no_program(cases[i].text, cases[i].text, cases[i].mentions);
}

/* `unit` again and again behind "y = ". */
static void fill_text(char *text, const char *unit) {
  size_t filled = strlen(unit);
  memcpy(text, "y = ", 4);
  memcpy(text + 4, unit, filled);
  for (size_t more; (more = HUGE_TEXT - 4 - filled) > 0; filled += more) {
    if (more > filled) more = filled;
    memcpy(text + 4 + filled, text + 4, more);
  }
  text[HUGE_TEXT] = 0;
}

static void enormous_texts_are_refused(void **state) {
  (void)state;
  static const char *const units[] = {"x", "(", " ", "-", "x+", "x?", "abs(", "y=x;", "\xff", "9"};
  char *text = malloc(HUGE_TEXT + 1);
  convoy_program *program = parse("y = x"), *out = NULL;
  assert_non_null(text);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    fill_text(text, units[i]);
    expect_no_program(units[i], text, "16383");
    text[16383] = 0; /* the longest that is read */
    expect_no_program(units[i], text, "column");
    assert_true(strlen(convoy_last_error()) < 400);
  }
  fill_text(text, "x");
  expect_refusal("name", convoy_program_named(text, &out), CONVOY_ERR_NOT_FOUND, "y = xxx");
  expect_refusal("of", convoy_program_gradient(program, text, &out), CONVOY_ERR_ARGUMENT, "\"y\"");
  expect_refusal("of", convoy_program_gradient(program, text + 4, &out), CONVOY_ERR_ARGUMENT,
                 "xxx");
  assert_true(strlen(convoy_last_error()) < 400);
  fill_text(text, " x"); /* the same name a million times */
  text[2000000] = 0;
  assert_int_equal(convoy_program_gradient(program, text + 4, &out), CONVOY_OK);
  convoy_program_free(out);
  convoy_program_free(program);
  free(text);
}

/* What fits is written, and nothing beyond it. */
static void a_text_takes_the_bytes_it_needs(void **state) {
  (void)state;
  char text[32];
  convoy_program *program = parse("y = x * x");
  for (size_t size = 0; size < sizeof text; size++) {
    memset(text, 0x5a, sizeof text);
    convoy_status status = convoy_program_text(program, text, size);
    assert_int_equal(status, size < sizeof "y = x * x" ? CONVOY_ERR_ARGUMENT : CONVOY_OK);
    if (!status) assert_string_equal(text, "y = x * x");
    for (size_t i = size; i < sizeof text; i++) assert_int_equal(text[i], 0x5a);
  }
  convoy_program_free(program);
}

/* --------------------------------------------------------------------------------- applying */

static void null_operands_are_named(void **state) {
  (void)state;
  convoy_program *program = parse("y = a * b");
  convoy_tensor *a = filled(context, 3, 2), *y = filled(context, 3, 7);
  const convoy_tensor *in[] = {a, NULL};
  convoy_tensor *none[] = {NULL};
  expect_refusal("b", convoy_apply(context, program, in, &y, NULL), CONVOY_ERR_ARGUMENT,
                 "b is NULL");
  expect_refusal("inputs", convoy_apply(context, program, NULL, &y, NULL), CONVOY_ERR_ARGUMENT,
                 "inputs");
  in[1] = a;
  expect_refusal("y", convoy_apply(context, program, in, none, NULL), CONVOY_ERR_ARGUMENT,
                 "y is NULL");
  expect_refusal("outputs", convoy_apply(context, program, in, NULL, NULL), CONVOY_ERR_ARGUMENT,
                 "outputs");
  expect_refusal("program", convoy_apply(context, NULL, in, &y, NULL), CONVOY_ERR_ARGUMENT,
                 "program");
  expect_refusal("context", convoy_apply(NULL, program, in, &y, NULL), CONVOY_ERR_ARGUMENT,
                 "context");
  expect_refusal("b", convoy_multiply(context, a, NULL, y, NULL), CONVOY_ERR_ARGUMENT, "b is NULL");
  expect_refusal("y", convoy_silu(context, a, NULL, NULL), CONVOY_ERR_ARGUMENT, "y is NULL");
  expect_refusal("x", convoy_sigmoid(context, NULL, y, NULL), CONVOY_ERR_ARGUMENT, "x is NULL");
  expect_refusal("context", convoy_add(NULL, a, a, y, NULL), CONVOY_ERR_ARGUMENT, "context");
  expect_all(y, 3, 7);
  convoy_tensor_free(a);
  convoy_tensor_free(y);
  convoy_program_free(program);
}

static void operands_that_do_not_fit_are_refused(void **state) {
  (void)state;
  convoy_tensor *a = filled(context, 3, 2), *b = filled(context, 4, 2), *y = filled(context, 3, 7);
  convoy_run run = CONVOY_RUN_INIT;
  run.struct_size = 3;
  expect_refusal("run", convoy_relu(context, a, y, &run), CONVOY_ERR_ARGUMENT, "3");
  expect_refusal("b", convoy_add(context, a, b, y, NULL), CONVOY_ERR_SHAPE, "b has extent 4");
  expect_refusal("y", convoy_relu(context, b, y, NULL), CONVOY_ERR_SHAPE, "x has extent 4");
  expect_all(y, 3, 7);
  convoy_tensor_free(a);
  convoy_tensor_free(b);
  convoy_tensor_free(y);
}

static void foreign_and_closed_contexts_are_refused(void **state) {
  (void)state;
  convoy_context *elsewhere = open_cpu();
  convoy_tensor *mine = filled(context, 3, 2), *foreign = filled(elsewhere, 3, 7);
  expect_refusal("input", convoy_relu(context, foreign, mine, NULL), CONVOY_ERR_ARGUMENT,
                 "context");
  expect_refusal("output", convoy_relu(context, mine, foreign, NULL), CONVOY_ERR_ARGUMENT,
                 "context");
  expect_all(foreign, 3, 7);
  convoy_close(elsewhere);
  expect_refusal("closed", convoy_relu(elsewhere, foreign, foreign, NULL), CONVOY_ERR_ARGUMENT,
                 "closed");
  expect_refusal("its tensor", convoy_relu(context, foreign, mine, NULL), CONVOY_ERR_ARGUMENT,
                 "context");
  expect_refusal("seed", convoy_seed(elsewhere, 1), CONVOY_ERR_ARGUMENT, "closed");
  expect_all(mine, 3, 2);
  convoy_tensor_free(foreign);
  convoy_tensor_free(mine);
}

static void types_that_are_none_are_refused(void **state) {
  (void)state;
  static const int none[] = {-1, CONVOY_DTYPES, INT_MAX, INT_MIN};
  const int64_t extent = 3;
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
    convoy_tensor *tensor = NULL;
    char number[16];
    snprintf(number, sizeof number, "%d", none[i]);
    expect_refusal(number,
                   convoy_tensor_new_typed(context, (convoy_dtype)none[i], 1, &extent, &tensor),
                   CONVOY_ERR_ARGUMENT, number);
    assert_null(tensor);
  }
}

/* Counts are elements, not bytes, and no byte beyond them is read or written. */
static void typed_tensors_take_their_count(void **state) {
  (void)state;
  const int64_t extent = 3;
  const uint8_t values[] = {1, 2, 3};
  uint8_t read[8];
  convoy_tensor *tensor;
  memset(read, 0x5a, sizeof read);
  assert_int_equal(convoy_tensor_new_typed(context, CONVOY_UINT8, 1, &extent, &tensor), CONVOY_OK);
  assert_int_equal(convoy_tensor_write(tensor, values, 3), CONVOY_OK);
  expect_refusal("write", convoy_tensor_write(tensor, values, 12), CONVOY_ERR_SHAPE, "12");
  expect_refusal("read", convoy_tensor_read(tensor, read, 12), CONVOY_ERR_SHAPE, "12");
  assert_int_equal(read[0], 0x5a);
  assert_int_equal(convoy_tensor_read(tensor, read, 3), CONVOY_OK);
  assert_memory_equal(read, ((const uint8_t[]){1, 2, 3, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a}), 8);
  convoy_tensor_free(tensor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_pointers_are_named),
      cmocka_unit_test(numbers_past_the_end_have_no_name),
      cmocka_unit_test(texts_that_are_none_are_told),
      cmocka_unit_test(enormous_texts_are_refused),
      cmocka_unit_test(a_text_takes_the_bytes_it_needs),
      cmocka_unit_test(null_operands_are_named),
      cmocka_unit_test(operands_that_do_not_fit_are_refused),
      cmocka_unit_test(foreign_and_closed_contexts_are_refused),
      cmocka_unit_test(types_that_are_none_are_refused),
      cmocka_unit_test(typed_tensors_take_their_count),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
