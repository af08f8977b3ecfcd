#include "program/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/named.h"

const test_map test_maps[TEST_MAPS] = {
    {1, 16, 320}, {3, 32, 160}, {2, 16, 160}, {8, 64, 80},  {6, 32, 80}, {3, 80, 80}, {12, 64, 40},
    {7, 128, 40}, {3, 80, 40},  {6, 256, 20}, {6, 128, 20}, {3, 80, 20}, {3, 64, 20},
};

const char *const test_pass_names[TEST_PASSES] = {"statistics", "forward", "sums", "backward"};

static const char *const whole_texts[TEST_PASSES] = {
    "mean = mean over n z h w of x; variance = variance over n z h w of x",
    "let t = (x - mean) * (gamma * rsqrt(variance + epsilon)) + beta; y = t * sigmoid(t)",
    "let h = (x - mean) * rsqrt(variance + epsilon); let t = h * gamma + beta; let s = sigmoid(t); "
    "let d = dy * (s * (1 + t * (1 - s))); a = sum over n z h w of d; b = sum over n z h w of d * "
    "h",
    "let r = rsqrt(variance + epsilon); let h = (x - mean) * r; let t = h * gamma + beta; "
    "let s = sigmoid(t); let d = dy * (s * (1 + t * (1 - s))); "
    "dx = (d - a * share - h * (b * share)) * (gamma * r)",
};

static const char *const named_passes[TEST_PASSES] = {
    "statistics", "normalise_silu", "normalise_silu_sums", "normalise_silu_backward"};

static const char *const array_names[TEST_ARRAYS] = {
    [TEST_X] = "x",
    [TEST_DY] = "dy",
    [TEST_Y] = "y",
    [TEST_DX] = "dx",
    [TEST_MEAN] = "mean",
    [TEST_VARIANCE] = "variance",
    [TEST_GAMMA] = "gamma",
    [TEST_BETA] = "beta",
    [TEST_A] = "a",
    [TEST_B] = "b",
    [TEST_DEVIATION] = "deviation",
    [TEST_SCALE] = "scale",
    [TEST_SHIFT] = "shift",
    [TEST_EPSILON] = "epsilon",
    [TEST_SHARE] = "share",
};

static test_array array_named(const char *name) {
  for (int i = 0; i < TEST_ARRAYS; i++)
    if (array_names[i] && !strcmp(array_names[i], name)) return (test_array)i;
  fprintf(stderr, "no array %s\n", name);
  exit(EXIT_FAILURE);
}

static cvy_program_class class_of(test_array array) {
  if (array < TEST_LARGE) return CVY_CLASS_FULL;
  return array < TEST_CHANNELS ? CVY_CLASS_CHANNEL : CVY_CLASS_ONE;
}

void test_pass_of(const test_map *map, int batch, int pass, bool whole, test_pass *out) {
  const int64_t extent[] = {batch, map->channels, 1, map->size, map->size};
  const char *text = whole ? whole_texts[pass] : cvy_named_find(named_passes[pass])->text;
  cvy_program_class classes[CVY_PROGRAM_INPUTS];
  cvy_program program;
  cvy_program_names names;
  cvy_reduction how;
  memset(out, 0, sizeof *out);
  memset(&names, 0, sizeof names);
  if (cvy_reduction_parse(text, &program, &how, &names)) {
    fprintf(stderr, "%s\n", cvy_last_error());
    exit(EXIT_FAILURE);
  }
  out->reduces = how.axes != 0;
  out->inputs = program.inputs;
  out->results = out->reduces ? how.results : program.results;
  for (int i = 0; i < program.inputs; i++) {
    out->operand[i] = array_named(names.input[i]);
    classes[i] = class_of(out->operand[i]);
  }
  for (int k = 0; k < out->results; k++)
    out->operand[out->inputs + k] = array_named(names.result[k]);
  if (out->reduces)
    cvy_reduce_problem_init(&program, &how, extent, classes, &out->reduction);
  else
    cvy_program_problem_init(&program, extent, classes, &out->program);
}

/* Of the distinct elements that an operand has for the index space. */
static double bytes_of(const cvy_program_view *view, const int64_t *extent) {
  double bytes = (double)cvy_dtype_bytes(view->type);
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (view->stride[axis] || extent[axis] == 0) bytes *= (double)extent[axis];
  return bytes;
}

double test_pass_bytes(const test_pass *pass) {
  const cvy_program_problem *of = pass->reduces ? &pass->reduction.of : &pass->program;
  uint32_t read = cvy_program_uses_of(&of->program).inputs;
  double bytes = 0;
  for (int i = 0; i < pass->inputs; i++)
    if (read >> i & 1) bytes += bytes_of(&of->input[i], of->extent);
  for (int k = 0; k < pass->results; k++) bytes += bytes_of(&of->result[k], of->extent);
  return bytes;
}

int64_t test_array_count(test_array array, int batch) {
  if (array >= TEST_LARGE) return 4096;
  return (int64_t)batch * 16 * 320 * 320;
}
