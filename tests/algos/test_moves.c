/* Moves on the device of the first argument, by every row that takes them, against the reference:
 * all kinds of boxes, types and sizes; that bits are moved; and what the functions that make boxes
 * make of them. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "common/operation.h"
#include "common/random.h"

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

static const char *const texts[] = {
    /* Rows of neighbours, aligned for four and not. */
    "copy x1 by0 y1",
    "copy x4096 by1 y4096",
    "copy x5000 from1 by1 y4097",
    "copy x40000 by1 y40000",
    "copy x4096 from64 by64,1 y60,32",
    "copy x4096 from65 by64,1 y60,32",
    "copy x4096 from64 by64,1 y60,31",
    /* Turned round, apart, repeated. */
    "copy x4096 from4095 by-1 y4096",
    "copy x5000 by2 y2500",
    "copy x5000 from4999 by-3 y1600",
    "copy x64 by0,1 y50,64",
    "copy x64 by1,0 y64,50",
    "copy x64 from13 by0 y100",
    "copy x60 from59 by-20,-5,-1 y3,4,5",
    /* Across: tiles, parts of tiles, and what is too small for any. */
    "copy x4096 by1,64 y64,64",
    "copy x6867 by1,109 y109,63",
    "copy x2000 by1,1000 y1000,2",
    "copy x3000 by25,1000,1 y40,3,25",
    "copy x3000 by1,100 y100,30",
    "copy x900 by1,300 y300,3",
    "copy x900 by1,3 y3,300",
    "copy x24000 by2400,1,60 y10,60,40",
    "copy x24000 by60,1,2400 y40,60,10",
    "copy x24000 from23999 by-60,-1,-2400 y40,60,10",
    "copy x30000 by1,60,1500 y60,25,20",
    "copy x256 by1,2,4,8,16,32,64,128 y2,2,2,2,2,2,2,2",
    "copy x20480 by1,32,512,10240,2560 y32,16,5,2,4",
    /* Around and between. */
    "copy x600 by30,1 y22,34 take20,30 at1,2",
    "copy x600 by30,1 y24,32 take20,28 at4,4 fill-1.5",
    "copy x600 by30,1 y22,30 take20,30 at1,0 fill7",
    "copy x600 by200,10,1 y3,41,21 take3,20,10 at0,1,0 step1,2,2 fillnan",
    "copy x600 by1,30 y64,40 take30,20 at3,5 step2,1 fill-inf",
    "copy x40000 by1 y100001 take40000 at1 step2",
    "copy x40000 by1 y50000 take40000 at7",
    "copy x8 by0,0 y300,70 take0,0 fill2.5",
    "copy x0 by0 y70 take0 fill1",
    /* Integers. */
    "copy x4096:int32 by1 y4096",
    "copy x4096:uint8 from64 by64,1 y60,32",
    "copy x4097:uint8 from3 by1 y4001",
    "copy x4096:int32 by1,64 y64,64",
    "copy x6867:uint8 by1,109 y109,63",
    "copy x600:uint8 by30,1 y22,34 take20,30 at1,2 fill-1.5",
    "copy x60:int32 from59 by-20,-5,-1 y3,4,5",
    "concatenate n1 w5000",
    "concatenate n1 w70000,3,40001",
    "concatenate n17 w64,4,128,12",
    "concatenate n500 w1,1,2",
    "concatenate n9 w7:uint8,300:int32,31",
    "concatenate n9 w64:uint8,12:int32,4",
    "concatenate n3 w0,5,0,0,7,0",
    "concatenate n3 w1,2,3,4,5,6,7,8,9,10,11,12",
    /* Of nothing nothing is computed. */
    "concatenate n0 w5,3",
    "concatenate n5 w0,0",
    "copy x5 by0,0 y0,3 take0,0",
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* The end of a row's name that takes a text. */
static const char *row_of(const char *text) {
  return strncmp(text, "copy ", 5) == 0 ? ".copy" : ".concatenate";
}

static void make(const char *text, operation *out) {
  if (operation_read(text, out)) fail_msg("%s: %s", text, convoy_last_error());
  assert_true(operation_fill(out, fill_real, 0.0f));
}

static void carry_out(operation *what, const char *algorithm) {
  convoy_tensor *tensor[CONVOY_MAX_OPERANDS];
  convoy_run run = CONVOY_RUN_INIT;
  assert_int_equal(operation_tensors(context, what, tensor), CONVOY_OK);
  if (operation_apply(context, what, tensor, &run))
    fail_msg("%s, %s: %s", algorithm, what->text, convoy_last_error());
  if (run.algorithm[0]) assert_string_equal(run.algorithm, algorithm);
  assert_int_equal(operation_fetch(what, tensor), CONVOY_OK);
  operation_drop(what, tensor);
}

static void run_text(const char *text, const char *algorithm) {
  operation what;
  verdict result;
  make(text, &what);
  carry_out(&what, algorithm);
  if (what.count[what.inputs] > 0) {
    assert_true(operation_compare_reference(&what, INT64_MAX, &result));
    if (result.wrong)
      fail_msg("%s, %s: [%lld] is %.9g, not %.9g", algorithm, text, (long long)result.index,
               result.got, result.expected);
  }
  operation_free(&what);
}

static void every_row_moves_what_the_reference_says(void **state) {
  const char *name;
  int runs = 0;
  (void)state;
  for (int row = 0; (name = convoy_algorithm_name(context, row)); row++) {
    for (int t = 0; t < TEXTS; t++) {
      if (!strstr(name, row_of(texts[t]))) continue;
      assert_int_equal(convoy_set_algorithm(context, name), CONVOY_OK);
      run_text(texts[t], name);
      runs++;
    }
  }
  assert_int_equal(convoy_set_algorithm(context, NULL), CONVOY_OK);
  assert_true(runs >= TEXTS);
}

/* ------------------------------------------------------------------------------------- tensors */

static convoy_tensor *tensor_of(convoy_dtype dtype, int32_t dims, const int64_t *shape,
                                const void *values) {
  convoy_tensor *made = NULL;
  int64_t count = 1;
  for (int32_t i = 0; i < dims; i++) count *= shape[i];
  assert_int_equal(convoy_tensor_new_typed(context, dtype, dims, shape, &made), CONVOY_OK);
  if (values) assert_int_equal(convoy_tensor_write(made, values, count), CONVOY_OK);
  return made;
}

static void check_values(convoy_tensor *tensor, const float *wanted, int64_t count) {
  float got[256];
  assert_in_range(count, 0, 256);
  assert_int_equal(convoy_tensor_read(tensor, got, count), CONVOY_OK);
  for (int64_t i = 0; i < count; i++)
    if (got[i] != wanted[i])
      fail_msg("[%d] is %g, not %g", (int)i, (double)got[i], (double)wanted[i]);
}

/* NaN of any kind, denormal numbers, both zeros. */
static void bits_are_moved(void **state) {
  const uint32_t bits[] = {0x7fc00000, 0xffc12345, 0x7f800001, 1,          0x80000001, 0x007fffff,
                           0x80000000, 0,          0x7f800000, 0xff800000, 0x3f800000, 0xc0490fdb};
  static const char *const ways[] = {"copy x12 by1 y12", "copy x12 by1,4 y4,3",
                                     "copy x12 from11 by-1 y12", "copy x12 by1 y14 take12 at1"};
  const int64_t twelve[] = {12};
  (void)state;
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    convoy_box box;
    convoy_dtype dtype;
    int64_t elements, results = 1;
    uint32_t got[16];
    assert_int_equal(convoy_parse_copy(ways[w], &box, &dtype, &elements), CONVOY_OK);
    for (int axis = 0; axis < box.axes; axis++) results *= box.extent[axis];
    convoy_tensor *x = tensor_of(CONVOY_FLOAT32, 1, twelve, bits);
    convoy_tensor *y = tensor_of(CONVOY_FLOAT32, 1, &results, NULL);
    assert_int_equal(convoy_copy(context, &box, x, y, NULL), CONVOY_OK);
    assert_int_equal(convoy_tensor_read(y, got, results), CONVOY_OK);
    for (int64_t i = 0; i < 12; i++) {
      int64_t at = w == 1 ? i % 4 * 3 + i / 4 : w == 2 ? 11 - i : w == 3 ? i + 1 : i;
      if (got[at] != bits[i]) fail_msg("%s: %08x became %08x", ways[w], bits[i], got[at]);
    }
    convoy_tensor_free(x);
    convoy_tensor_free(y);
  }
}

static void integers_are_rounded_as_programs_round(void **state) {
  const int32_t values[] = {0, -1, 16777217, 16777219, INT32_MAX, INT32_MIN, -33554433, 7};
  const int64_t eight[] = {8};
  float wanted[8];
  const convoy_tensor *in[1];
  convoy_program *program;
  (void)state;
  convoy_tensor *x = tensor_of(CONVOY_INT32, 1, eight, values);
  convoy_tensor *y = tensor_of(CONVOY_FLOAT32, 1, eight, NULL);
  assert_int_equal(convoy_program_parse("y = x", &program), CONVOY_OK);
  in[0] = x;
  assert_int_equal(convoy_apply(context, program, in, &y, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(y, wanted, 8), CONVOY_OK);
  assert_int_equal(convoy_permute(context, (int32_t[]){0}, x, y, NULL), CONVOY_OK);
  check_values(y, wanted, 8);
  convoy_program_free(program);
  convoy_tensor_free(x);
  convoy_tensor_free(y);
}

/* ------------------------------------------------------------------------------------ functions */

enum { X0 = 2, X1 = 3, X2 = 4, MOST = 256 };
static const int64_t x_shape[] = {X0, X1, X2};

static convoy_tensor *counting(void) {
  float values[X0 * X1 * X2];
  for (int i = 0; i < X0 * X1 * X2; i++) values[i] = (float)i;
  return tensor_of(CONVOY_FLOAT32, 3, x_shape, values);
}

static float x_at(int64_t a, int64_t b, int64_t c) {
  return (float)((a * X1 + b) * X2 + c);
}

static void permutations(void **state) {
  static const int32_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  convoy_tensor *x = counting();
  (void)state;
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
    int64_t shape[3], at[3], i = 0;
    float wanted[MOST];
    for (int axis = 0; axis < 3; axis++) shape[axis] = x_shape[orders[o][axis]];
    convoy_tensor *y = tensor_of(CONVOY_FLOAT32, 3, shape, NULL);
    for (int64_t a = 0; a < shape[0]; a++) {
      for (int64_t b = 0; b < shape[1]; b++) {
        for (int64_t c = 0; c < shape[2]; c++) {
          at[orders[o][0]] = a;
          at[orders[o][1]] = b;
          at[orders[o][2]] = c;
          wanted[i++] = x_at(at[0], at[1], at[2]);
        }
      }
    }
    assert_int_equal(convoy_permute(context, orders[o], x, y, NULL), CONVOY_OK);
    check_values(y, wanted, i);
    convoy_tensor_free(y);
  }
  convoy_tensor_free(x);
}

static void slices(void **state) {
  static const struct {
    int64_t begin[3], step[3], count[3];
  } cases[] = {
      {{0, 0, 0}, {1, 1, 1}, {2, 3, 4}},    {{1, 1, 1}, {1, 1, 2}, {1, 2, 2}},
      {{1, 2, 3}, {-1, -2, -1}, {2, 2, 4}}, {{0, 1, 0}, {0, 0, 3}, {5, 2, 2}},
      {{0, 0, 0}, {7, 1, 1}, {1, 3, 4}},    {{0, 0, 9}, {1, 1, 1}, {2, 3, 0}},
  };
  convoy_tensor *x = counting();
  (void)state;
  for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
    const int64_t *begin = cases[s].begin, *step = cases[s].step, *count = cases[s].count;
    float wanted[MOST];
    int64_t i = 0;
    convoy_tensor *y = tensor_of(CONVOY_FLOAT32, 3, count, NULL);
    for (int64_t a = 0; a < count[0]; a++)
      for (int64_t b = 0; b < count[1]; b++)
        for (int64_t c = 0; c < count[2]; c++)
          wanted[i++] =
              x_at(begin[0] + a * step[0], begin[1] + b * step[1], begin[2] + c * step[2]);
    assert_int_equal(convoy_slice(context, begin, step, x, y, NULL), CONVOY_OK);
    check_values(y, wanted, i);
    convoy_tensor_free(y);
  }
  convoy_tensor_free(x);
}

static void padding(void **state) {
  static const struct {
    int64_t begin[3], shape[3];
  } cases[] = {
      {{0, 0, 0}, {2, 3, 4}},   {{0, 1, 2}, {2, 5, 7}}, {{1, 0, -1}, {3, 3, 3}},
      {{-1, -1, 0}, {1, 1, 4}}, {{0, 5, 0}, {2, 4, 4}}, {{0, -9, 0}, {2, 2, 4}},
      {{0, 2, -3}, {2, 4, 2}},  {{3, 0, 0}, {0, 3, 4}},
  };
  convoy_tensor *x = counting();
  (void)state;
  for (size_t p = 0; p < sizeof cases / sizeof *cases; p++) {
    const int64_t *begin = cases[p].begin, *shape = cases[p].shape;
    float wanted[MOST];
    int64_t i = 0;
    convoy_tensor *y = tensor_of(CONVOY_FLOAT32, 3, shape, NULL);
    for (int64_t a = 0; a < shape[0]; a++) {
      for (int64_t b = 0; b < shape[1]; b++) {
        for (int64_t c = 0; c < shape[2]; c++) {
          int64_t from[] = {a - begin[0], b - begin[1], c - begin[2]};
          bool inside = true;
          for (int axis = 0; axis < 3; axis++)
            inside = inside && from[axis] >= 0 && from[axis] < x_shape[axis];
          wanted[i++] = inside ? x_at(from[0], from[1], from[2]) : -2.5f;
        }
      }
    }
    assert_int_equal(convoy_pad(context, CONVOY_PAD_CONSTANT, begin, -2.5f, x, y, NULL), CONVOY_OK);
    check_values(y, wanted, i);
    convoy_tensor_free(y);
  }
  convoy_tensor_free(x);
}

/* Three tensors, one of them twice, along each axis. */
static void concatenations(void **state) {
  float ones[X0 * X1 * X2], wanted[MOST];
  (void)state;
  for (int i = 0; i < X0 * X1 * X2; i++) ones[i] = -1.0f;
  convoy_tensor *x = counting(), *one = tensor_of(CONVOY_FLOAT32, 3, x_shape, ones);
  const convoy_tensor *const inputs[] = {x, one, x};
  for (int32_t axis = 0; axis < 3; axis++) {
    int64_t shape[3], i = 0;
    memcpy(shape, x_shape, sizeof shape);
    shape[axis] *= 3;
    convoy_tensor *y = tensor_of(CONVOY_FLOAT32, 3, shape, NULL);
    for (int64_t a = 0; a < shape[0]; a++) {
      for (int64_t b = 0; b < shape[1]; b++) {
        for (int64_t c = 0; c < shape[2]; c++) {
          int64_t at[] = {a, b, c}, which = at[axis] / x_shape[axis];
          at[axis] %= x_shape[axis];
          wanted[i++] = which == 1 ? -1.0f : x_at(at[0], at[1], at[2]);
        }
      }
    }
    assert_int_equal(convoy_concatenate(context, axis, 3, inputs, y, NULL), CONVOY_OK);
    check_values(y, wanted, i);
    convoy_tensor_free(y);
  }
  convoy_tensor_free(x);
  convoy_tensor_free(one);
}

static void results_may_replace_operands(void **state) {
  float wanted[X0 * X1 * X2];
  convoy_tensor *x = counting();
  (void)state;
  for (int i = 0; i < X0 * X1 * X2; i++) wanted[i] = (float)(X0 * X1 * X2 - 1 - i);
  const int64_t last[] = {X0 - 1, X1 - 1, X2 - 1}, back[] = {-1, -1, -1};
  assert_int_equal(convoy_slice(context, last, back, x, x, NULL), CONVOY_OK);
  check_values(x, wanted, X0 * X1 * X2);
  convoy_tensor_free(x);
}

/* 6 axes, which no tensor has: extents are labels. */
static void extents_are_labels_for_copies(void **state) {
  const int64_t shape[] = {8, 8}, other[] = {64};
  convoy_box box = CONVOY_BOX_INIT(6);
  float values[64], wanted[64];
  (void)state;
  for (int axis = 0; axis < 6; axis++) {
    box.extent[axis] = box.count[axis] = 2;
    box.stride[axis] = 1 << axis;
  }
  for (int i = 0; i < 64; i++) values[i] = (float)i;
  for (int i = 0; i < 64; i++)
    wanted[i] = (float)((i & 1) << 5 | (i & 2) << 3 | (i & 4) << 1 | (i & 8) >> 1 | (i & 16) >> 3 |
                        (i & 32) >> 5);
  convoy_tensor *x = tensor_of(CONVOY_FLOAT32, 2, shape, values);
  convoy_tensor *y = tensor_of(CONVOY_FLOAT32, 1, other, NULL);
  assert_int_equal(convoy_copy(context, &box, x, y, NULL), CONVOY_OK);
  check_values(y, wanted, 64);
  convoy_tensor_free(x);
  convoy_tensor_free(y);
}

int main(int argc, char **argv) {
  device_name = argc > 1 ? argv[1] : "cpu";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_moves_what_the_reference_says),
      cmocka_unit_test(bits_are_moved),
      cmocka_unit_test(integers_are_rounded_as_programs_round),
      cmocka_unit_test(permutations),
      cmocka_unit_test(slices),
      cmocka_unit_test(padding),
      cmocka_unit_test(concatenations),
      cmocka_unit_test(results_may_replace_operands),
      cmocka_unit_test(extents_are_labels_for_copies),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
