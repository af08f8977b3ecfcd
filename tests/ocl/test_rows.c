/* Runs every row of the OpenCL table on every direction over shapes with all numbers different, on
 * integer data and with bias, activation or accumulation. Results are poisoned beforehand; they
 * must be those of the reference, with tolerance 0 or the bound of a row that has its own, and have
 * the same bits twice. With the argument `tiny` there are a few small shapes; with the name of a
 * row it runs that row alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "engine.h"
#include "problem/conv/conv.h"
#include "ref/ref.h"
#include "row_shapes.h"

/* Every row runs so many cases at least, in whichever list. */
#define LEAST_CASES 5

static test_engine engine;
static const char *const *chosen = shapes;
static size_t shape_count = CVY_COUNT(shapes);
static const char *const *gpu_chosen = gpu_shapes;
static size_t gpu_shape_count = CVY_COUNT(gpu_shapes);
static const char *only; /* this row; NULL: all */
static uint32_t seed = 1;

static float small_integer(void) {
  seed = seed * 1664525u + 1013904223u;
  return (float)((int32_t)(seed >> 24) % 7 - 3);
}

static float *integers(int64_t count) {
  float *values = malloc((size_t)(count ? count : 1) * sizeof *values);
  for (int64_t i = 0; i < count; i++) values[i] = small_integer();
  return values;
}

/* A variant of a direction: plain, accumulating, or for forward with an epilogue. */
typedef struct variant {
  float beta;
  bool bias;
  convoy_activation activation;
} variant;

static const variant variants[] = {
    {0, false, CONVOY_IDENTITY},
    {1, false, CONVOY_IDENTITY},
    {0, true, CONVOY_RELU},
    {0, true, CONVOY_LEAKY_RELU},
};

typedef struct one_case {
  const char *text;
  convoy_conv conv;
  int64_t x_shape[5], w_shape[5];
  convoy_direction direction;
  variant variant;
  cvy_problem problem;
} one_case;

static bool make_case(const char *text, int direction, variant how, one_case *out) {
  convoy_direction ignored;
  out->text = text;
  out->direction = (convoy_direction)direction;
  out->variant = how;
  assert_int_equal(cvy_parse_problem(text, &out->conv, out->x_shape, out->w_shape, &ignored), 0);
  bool forward = direction == CONVOY_FORWARD;
  if (!forward && (how.bias || how.activation != CONVOY_IDENTITY)) return false;
  if (forward && how.beta != 0) return false;
  convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
  epilogue.activation = how.activation;
  epilogue.slope = 0.5f;
  convoy_status status =
      cvy_conv_make(&out->conv, out->direction, out->x_shape, out->w_shape, how.beta, how.bias,
                    forward ? &epilogue : NULL, &out->problem);
  if (status) fail_msg("%s: %s", text, cvy_last_error());
  return true;
}

static float expected(const one_case *c, double sum, float before, float bias) {
  if (c->variant.beta != 0) return (float)(sum + before);
  double v = sum + (c->variant.bias ? bias : 0);
  if (c->variant.activation == CONVOY_RELU && v < 0) return 0;
  if (c->variant.activation == CONVOY_LEAKY_RELU && v < 0) return (float)(v * 0.5);
  return (float)v;
}

/* How far the row may be from the exact result. Rows without a bound of their own are exact on
 * small integers. */
static double tolerance(const one_case *c, const cvy_algorithm *row, const float *a, const float *b,
                        int64_t index, double magnitude) {
  if (!(row->error_growth > 0)) return 0;
  double wide = ref_wide_magnitude(&c->conv, c->direction, c->x_shape, c->w_shape, a, b, index,
                                   row->error_reach);
  return 4 * ((double)cvy_problem_terms(&c->problem) + 2) * 0x1p-24 *
         (magnitude + row->error_growth * wide);
}

static void compare(const one_case *c, const cvy_algorithm *row, const float *a, const float *b,
                    const float *bias, const float *before, const float *out, int64_t count) {
  int64_t per_channel = count / c->problem.conv.n / cvy_conv_count(&c->problem, CVY_BIAS);
  for (int64_t i = 0; i < count; i++) {
    double sum, magnitude;
    int64_t terms;
    /* A transposed convolution's weights come from (dy, x) after relabelling. */
    bool swap = c->conv.transposed && c->direction == CONVOY_BACKWARD_WEIGHTS;
    const float *first = swap ? b : a, *second = swap ? a : b;
    ref_element(&c->conv, c->direction, c->x_shape, c->w_shape, first, second, i, &sum, &magnitude,
                &terms);
    int64_t channels = cvy_conv_count(&c->problem, CVY_BIAS);
    float shift = c->variant.bias ? bias[i / per_channel % channels] : 0;
    float want = expected(c, sum, before[i], shift);
    if (!((double)fabsf(out[i] - want) <= tolerance(c, row, first, second, i, magnitude))) {
      fail_msg("%s: %s, direction %d, beta %g, bias %d, activation %d: element %lld is %g, not %g",
               row->name, c->text, (int)c->direction, (double)c->variant.beta, c->variant.bias,
               (int)c->variant.activation, (long long)i, (double)out[i], (double)want);
    }
  }
}

/* Runs a case twice, each time on a poisoned or prepared output. */
static void run_case(const one_case *c, int32_t row, const cvy_params *params) {
  const cvy_problem *problem = &c->problem;
  const char *name = engine.backend->algorithms[row]->name;
  int64_t count = cvy_conv_count(problem, cvy_conv_out(problem));
  float *a = integers(cvy_conv_count(problem, cvy_conv_in(problem, 0)));
  float *b = integers(
      cvy_problem_inputs(problem) > 1 ? cvy_conv_count(problem, cvy_conv_in(problem, 1)) : 0);
  float *bias = integers(cvy_conv_count(problem, CVY_BIAS));
  float *before = integers(count), *out[2] = {integers(count), integers(count)};
  for (int i = 0; i < 2; i++) {
    for (int64_t j = 0; j < count; j++) out[i][j] = c->variant.beta != 0 ? before[j] : NAN;
    if (test_engine_run(&engine, problem, row, params, a, b, bias, out[i])) {
      fail_msg("%s: %s, direction %d: %s", name, c->text, (int)c->direction,
               engine.module->last_error());
    }
  }
  assert_memory_equal(out[0], out[1], (size_t)count * sizeof(float));
  compare(c, engine.backend->algorithms[row], a, b, bias, before, out[0], count);
  float *all[] = {a, b, bias, before, out[0], out[1]};
  for (size_t i = 0; i < CVY_COUNT(all); i++) free(all[i]);
}

/* Rows of programs have tests of their own (test_generated_rows.c). */
static bool wanted(const cvy_algorithm *algorithm) {
  if (!(algorithm->operations & CVY_CONV_ALL)) return false;
  return !only || strcmp(only, algorithm->name) == 0;
}

static bool takes(const cvy_algorithm *algorithm, const cvy_problem *problem) {
  char buffer[192];
  cvy_text reason = cvy_text_in(buffer, sizeof buffer);
  if (!cvy_algorithm_does(algorithm, problem)) return false;
  const cvy_facts *facts = engine.backend->facts(engine.device);
  bool accepts = !algorithm->accepts || algorithm->accepts(problem, facts, &reason);
  if (!accepts) assert_true(buffer[0] != 0);
  return accepts;
}

static void every_shape(int32_t row) {
  const cvy_algorithm *algorithm = engine.backend->algorithms[row];
  int ran = 0;
  for (size_t s = 0; s < shape_count; s++) {
    for (int direction = 0; direction < CONVOY_DIRECTIONS; direction++) {
      for (size_t v = 0; v < CVY_COUNT(variants); v++) {
        one_case c;
        if (!make_case(chosen[s], direction, variants[v], &c)) continue;
        if (!takes(algorithm, &c.problem)) continue;
        cvy_params params = {{0}};
        if (algorithm->defaults)
          algorithm->defaults(&c.problem, engine.backend->facts(engine.device), &params);
        run_case(&c, row, &params);
        ran++;
      }
    }
  }
  printf("%s: %d cases\n", algorithm->name, ran);
  assert_true(ran >= LEAST_CASES);
}

static void rows_compute_what_the_reference_says(void **state) {
  (void)state;
  for (int32_t row = 0; engine.backend->algorithms[row]; row++)
    if (wanted(engine.backend->algorithms[row])) every_shape(row);
}

/* What a GPU gets: larger tiles, with the geometry compiled in. */
static void tiles_of_a_gpu_compute_the_same(void **state) {
  (void)state;
  cvy_facts facts = *engine.backend->facts(engine.device);
  facts.info.type = CONVOY_DEVICE_GPU;
  facts.info.compute_units = 20;
  for (int32_t row = 0; engine.backend->algorithms[row]; row++) {
    for (size_t s = 0; s < gpu_shape_count; s++) {
      for (int direction = 0; direction < CONVOY_DIRECTIONS; direction++) {
        const cvy_algorithm *algorithm = engine.backend->algorithms[row];
        one_case c;
        if (!algorithm->defaults || !wanted(algorithm)) continue;
        if (!make_case(gpu_chosen[s], direction, variants[direction == CONVOY_FORWARD ? 2 : 1], &c))
          continue;
        if (!takes(algorithm, &c.problem)) continue;
        cvy_params params = {{0}};
        algorithm->defaults(&c.problem, &facts, &params);
        run_case(&c, row, &params);
      }
    }
  }
}

/* What no default chooses on these shapes, but a tuner may: one kernel for a gradient, with whole
 * and broken tiles of channels and with one slice and several; steps of many terms. */
static const struct {
  const char *row, *shape;
  convoy_direction direction;
  cvy_params params;
} tuned[] = {
    {"ocl.winograd",
     "n2c16h12w10 k16r3s3 pad1 forward",
     CONVOY_BACKWARD_WEIGHTS,
     {{2, 16, 16, 8, 8, 8, 1, 2}}},
    {"ocl.winograd",
     "n9c18h17w11 k20r3s3 pad0:2,1:0 forward",
     CONVOY_BACKWARD_WEIGHTS,
     {{2, 16, 16, 8, 8, 8, 24, 2}}},
    {"ocl.winograd",
     "n3c70h13w11 k80r3s3 pad1 groups2 forward",
     CONVOY_BACKWARD_WEIGHTS,
     {{2, 32, 32, 8, 8, 8, 2, 2}}},
    {"ocl.winograd",
     "n2c40z3h8w9 k20t1r3s3 pad0,1,1 forward",
     CONVOY_BACKWARD_WEIGHTS,
     {{2, 16, 32, 8, 8, 8, 3, 2}}},
    {"ocl.winograd",
     "n2c9h9w10 k40r3s3 pad0:1,2 forward",
     CONVOY_FORWARD,
     {{2, 32, 32, 8, 8, 8, 1, 2}}},
    {"ocl.winograd",
     "n2c40h9w10 k9r3s3 pad0:1,2 forward",
     CONVOY_BACKWARD_DATA,
     {{2, 32, 32, 8, 8, 8, 1, 2}}},
    {"ocl.implicit_gemm", "n3c40h6w6 k36r1s1 forward", CONVOY_FORWARD, {{64, 64, 32, 8, 4, 1, 2}}},
};

/* Tiles need up to 40 KiB of local memory, of which the simulator has 32. */
static bool can_run(const cvy_algorithm *algorithm, const cvy_params *params,
                    const cvy_problem *problem) {
  const cvy_facts *facts = engine.backend->facts(engine.device);
  bool valid = algorithm->valid(params, problem, facts);
  assert_true(valid || facts->local_memory_bytes < 40 << 10);
  return valid;
}

static void tuned_parameters_compute_the_same(void **state) {
  (void)state;
  int ran = 0;
  for (size_t i = 0; i < CVY_COUNT(tuned); i++) {
    const variant of[] = {variants[0], variants[tuned[i].direction == CONVOY_FORWARD ? 2 : 1]};
    int32_t row = 0;
    while (strcmp(engine.backend->algorithms[row]->name, tuned[i].row) != 0) row++;
    const cvy_algorithm *algorithm = engine.backend->algorithms[row];
    for (size_t v = 0; v < CVY_COUNT(of) && wanted(algorithm); v++) {
      one_case c;
      assert_true(make_case(tuned[i].shape, tuned[i].direction, of[v], &c));
      assert_true(takes(algorithm, &c.problem));
      if (!can_run(algorithm, &tuned[i].params, &c.problem)) continue;
      run_case(&c, row, &tuned[i].params);
      ran++;
    }
  }
  printf("tuned: %d cases\n", ran);
  assert_true(only || ran >= LEAST_CASES);
}

static void the_last_row_takes_everything(void **state) {
  (void)state;
  int32_t last = 0;
  while (engine.backend->algorithms[last + 1]) last++;
  for (size_t s = 0; s < CVY_COUNT(shapes); s++) {
    for (int direction = 0; direction < CONVOY_DIRECTIONS; direction++) {
      one_case c;
      assert_true(make_case(shapes[s], direction, variants[0], &c));
      assert_true(takes(engine.backend->algorithms[last], &c.problem));
    }
  }
}

/* OpenCL lets a device have work-groups of one item. */
static void clblast_needs_room_for_a_work_group(void **state) {
  (void)state;
  char reason[192];
  one_case c;
  const cvy_algorithm *const *row = engine.backend->algorithms;
  cvy_facts facts = *engine.backend->facts(engine.device);
  while (*row && strcmp((*row)->name, "ocl.im2col_clblast") != 0) row++;
  if (!*row) skip();
  assert_true(make_case("n1c8h6w7 k9r6s7 forward", CONVOY_FORWARD, variants[0], &c));
  cvy_text text = cvy_text_in(reason, sizeof reason);
  facts.max_work_group = 64;
  assert_true((*row)->accepts(&c.problem, &facts, &text));
  facts.max_work_group = 16;
  assert_false((*row)->accepts(&c.problem, &facts, &text));
  assert_non_null(strstr(reason, "16 items"));
}

static void nothing_is_left_in_device_memory(void **state) {
  (void)state;
  cvy_usage usage;
  engine.backend->usage(engine.device, &usage);
  assert_int_equal(usage.bytes, 0);
  assert_true(usage.bytes_peak > 0);
  assert_true(usage.bytes_held >= usage.bytes);
}

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++) {
    if (strcmp(arguments[i], "tiny") != 0) {
      only = arguments[i];
      continue;
    }
    chosen = tiny_shapes;
    gpu_chosen = tiny_shapes;
    shape_count = gpu_shape_count = CVY_COUNT(tiny_shapes);
  }
  int ready = test_engine_open(&engine, INT64_C(64) << 20);
  if (ready) return ready;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_compute_what_the_reference_says),
      cmocka_unit_test(tiles_of_a_gpu_compute_the_same),
      cmocka_unit_test(tuned_parameters_compute_the_same),
      cmocka_unit_test(the_last_row_takes_everything),
      cmocka_unit_test(clblast_needs_room_for_a_work_group),
      cmocka_unit_test(nothing_is_left_in_device_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&engine);
  return failed;
}
