/* Every row of the CPU engine on operands that are parts of larger tensors: the bits are those of
 * the same problem on arrays of its own, random problems are those of the reference, gaps that hold
 * NaN are not read, and nothing is written there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/case.h"
#include "common/cmocka.h"
#include "common/commands.h"
#include "common/part.h"
#include "common/random_case.h"
#include "problem/conv/conv.h"
#include "problem/pooling/pooling.h"
#include "ref/ref.h"

static cvy_device *device;
static test_random random_state = {31};

/* ------------------------------------------------------------------------------------ running */

/* Where an operand begins that is no part: anywhere. */
static int64_t offset_of(const cvy_array_view *view) {
  return cvy_array_view_is_part(view) ? test_part_offset((int)view->aligned) : 0;
}

static test_part part_of(const cvy_array *array) {
  int64_t count = cvy_array_count(array), images = array->per_image ? array->extent[0] : 1;
  return test_part_new(images, images ? count / images : 0, array->view.pitch,
                       offset_of(&array->view));
}

/* A problem's operands, elements without gaps; the output holds what is added to. */
typedef struct elements {
  float *in[CVY_MAX_INPUTS], *out;
  int64_t count; /* of the output */
} elements;

static elements elements_of(const cvy_problem *problem) {
  elements all = {{NULL}, NULL, 0};
  cvy_array out = cvy_problem_output(problem, 0);
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    cvy_array array = cvy_problem_input(problem, i);
    all.in[i] = malloc((size_t)(cvy_array_count(&array) + 1) * sizeof(float));
    assert_non_null(all.in[i]);
    test_fill_integers(&random_state, all.in[i], cvy_array_count(&array));
  }
  all.count = cvy_array_count(&out);
  all.out = malloc((size_t)(all.count + 1) * sizeof(float));
  assert_non_null(all.out);
  test_fill_integers(&random_state, all.out, all.count);
  return all;
}

static void free_elements(elements *all) {
  for (int32_t i = 0; i < CVY_MAX_INPUTS; i++) free(all->in[i]);
  free(all->out);
}

/* Runs a row on the elements, lying as the problem says. Writes the results. */
static void run_row(const cvy_problem *problem, int32_t row, const elements *with, float *results) {
  cvy_job job = {.problem = *problem, .algorithm = row};
  const cvy_algorithm *algorithm = cvy_backend_cpu.algorithms[row];
  test_part in[CVY_MAX_INPUTS] = {{.images = 0}};
  cvy_array array = cvy_problem_output(problem, 0);
  test_part out = part_of(&array);
  if (algorithm->defaults) algorithm->defaults(problem, cvy_backend_cpu.facts(device), &job.params);
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    array = cvy_problem_input(problem, i);
    in[i] = part_of(&array);
    test_part_put(&in[i], with->in[i]);
    job.in[i].host = in[i].begin;
  }
  if (problem->accumulate) test_part_put(&out, with->out);
  job.out[0].host = out.begin;
  assert_int_equal(command_run(&cvy_backend_cpu, device, &job, NULL), CONVOY_OK);
  test_part_get(&out, results);
  char text[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(problem, text, sizeof text);
  if (!test_part_intact(&out)) fail_msg("%s wrote into a gap: %s", algorithm->name, text);
  test_part_free(&out);
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    if (!test_part_holds(&in[i], with->in[i]))
      fail_msg("%s wrote an input: %s", algorithm->name, text);
    test_part_free(&in[i]);
  }
}

static bool takes(int32_t row, const cvy_problem *problem) {
  char reason[192] = "";
  cvy_text text = cvy_text_in(reason, sizeof reason);
  const cvy_algorithm *algorithm = cvy_backend_cpu.algorithms[row];
  return cvy_algorithm_does(algorithm, problem) &&
         (!algorithm->accepts || algorithm->accepts(problem, cvy_backend_cpu.facts(device), &text));
}

/* ---------------------------------------------------------------------------------- problems */

static cvy_array_view random_view(int64_t image) {
  int aligned = (int)test_between(&random_state, -1, CVY_ARRAY_VIEW_MOST_ALIGNED);
  if (aligned < 0) return (cvy_array_view){0, 0};
  return (cvy_array_view){test_part_pitch(image, aligned), aligned};
}

/* The same problem, at least one of whose operands is a part. */
static cvy_problem as_parts(const cvy_problem *own) {
  cvy_problem part = *own;
  while (!cvy_array_view_is_part(&part.conv.x) && !cvy_array_view_is_part(&part.conv.y)) {
    part.conv.y = random_view(own->conv.k * cvy_out_volume(own));
    if (own->operation != CVY_CONV_BACKWARD_BIAS)
      part.conv.x = random_view(own->conv.c * cvy_in_volume(own));
  }
  assert_true(cvy_problem_legal(&part));
  return part;
}

static cvy_problem pool_as_parts(const cvy_problem *own) {
  cvy_problem part = *own;
  int64_t in = own->pooling.c * cvy_pooling_in_volume(own);
  part.pooling.y = random_view(own->pooling.c * cvy_pooling_out_volume(own));
  if (own->operation != CVY_POOLING_AVERAGE_BACKWARD) part.pooling.x = random_view(in);
  if (cvy_pooling_is_backward(own)) part.pooling.dx = random_view(in);
  assert_true(cvy_problem_legal(&part));
  return part;
}

static int64_t ran[64]; /* by row */

/* The bits of parts are those of arrays. With `fast` the definition, which takes long, is left out.
 */
static void compare_rows(const cvy_problem *own, const cvy_problem *part, bool fast) {
  elements with = elements_of(own);
  float *wanted = malloc((size_t)(with.count + 1) * sizeof(float));
  float *got = malloc((size_t)(with.count + 1) * sizeof(float));
  assert_true(wanted && got);
  for (int32_t row = 0; cvy_backend_cpu.algorithms[row]; row++) {
    bool plain = strcmp(cvy_backend_cpu.algorithms[row]->name, "cpu.direct") == 0;
    if (!takes(row, own) || (fast && plain)) continue;
    assert_true(takes(row, part));
    run_row(own, row, &with, wanted);
    run_row(part, row, &with, got);
    ran[row]++;
    if (memcmp(got, wanted, (size_t)with.count * sizeof(float)) == 0) continue;
    char text[CONVOY_PROBLEM_TEXT];
    cvy_problem_text(part, text, sizeof text);
    fail_msg("%s: other results for %s", cvy_backend_cpu.algorithms[row]->name, text);
  }
  free(wanted);
  free(got);
  free_elements(&with);
}

/* ------------------------------------------------------------------------------------- tests */

/* Of each shape every second direction: all of them would take long under sanitizers. */
static void convolutions_have_the_bits_of_arrays(void **state) {
  (void)state;
  test_case *cases = NULL;
  int count = test_cases_read(TEST_SHAPES, &cases);
  assert_true(count > 60);
  for (int i = 0; i < count; i++) {
    for (int d = i / 2 % 2; d < CONVOY_DIRECTIONS; d += 2) {
      convoy_epilogue epilogue = CONVOY_EPILOGUE_INIT;
      cvy_problem own;
      epilogue.activation = i % 2 ? CONVOY_RELU : CONVOY_IDENTITY;
      bool finishes = d == CONVOY_FORWARD && i % 3 == 0;
      float beta = d != CONVOY_FORWARD && i % 3 == 0 ? 1.0f : 0.0f;
      assert_int_equal(
          cvy_conv_make(&cases[i].conv, (convoy_direction)d, cases[i].x_shape, cases[i].w_shape,
                        beta, finishes, finishes ? &epilogue : NULL, &own),
          CONVOY_OK);
      cvy_problem part = as_parts(&own);
      compare_rows(&own, &part, false);
    }
  }
  free(cases);
}

/* Blocks of several images, whole cache lines of vectors, sums in slices: what small shapes do not
 * come to. */
static void larger_ones_do_too(void **state) {
  (void)state;
  static const char *const shapes[] = {
      "n6c64h14w14 k96r1s1",
      "n3c64h24w24 k64r1s1",
      "n4c32h13w13 k48r3s3 pad1",
      "n5c64h7w7 k64r3s3 pad1",
      "n2c24h33w20 k40r3s3 stride2 pad1",
      "n3c70h9w9 k90r1s1 stride2",
      "n3c96h12w12 k96r3s3 pad1 groups96",
      "n2c16h40w40 k16r5s5 stride2 pad2 groups16",
      "n2c3h64w64 k32r7s7 stride2 pad3",
      "n3c1h6w128 k8r1s33 pad0,16",
      "n2c24h32w48 k24r16s1 pad8:7,0",
      "n2c128h4w4 k320r3s3 pad1",
      "n9c20h5w3 k30r5s3",
      "n40c50h1w1 k70r1s1",
      "n3c4z2h3w4 k5t2r3s4",
      "n2c3h6w6 k5r6s6",
  };
  for (size_t i = 0; i < CVY_COUNT(shapes); i++) {
    for (int d = 0; d < CONVOY_DIRECTIONS; d++) {
      char text[CONVOY_PROBLEM_TEXT];
      cvy_problem own;
      snprintf(text, sizeof text, "%s %s", shapes[i], cvy_operations[d]->name);
      if (!cvy_problem_read(text, &own)) fail_msg("%s", text);
      for (int times = 0; times < 2; times++) {
        cvy_problem part = as_parts(&own);
        compare_rows(&own, &part, true);
      }
    }
  }
}

static void every_row_of_convolution_ran(void **state) {
  (void)state;
  for (int32_t row = 0; cvy_backend_cpu.algorithms[row]; row++) {
    const cvy_algorithm *algorithm = cvy_backend_cpu.algorithms[row];
    if (algorithm->operations & CVY_CONV_ALL) assert_true(ran[row] >= 20);
  }
}

static void pools_have_the_bits_of_arrays(void **state) {
  (void)state;
  static const char *const windows[] = {
      "n3c5h9w11 r3s3 stride2 pad1", "n2c4h8w8 r2s2 stride2",
      "n4c3h7w20 r5s5 pad2",         "n2c3z4h6w5 t2r2s3 stride2,2,1 pad1:0,1,1 ceil",
      "n3c2w70 s4 stride3 pad1:2",
  };
  for (int i = 0; i < 4 * (int)CVY_COUNT(windows) * 2; i++) {
    char text[CONVOY_PROBLEM_TEXT];
    cvy_problem own;
    snprintf(text, sizeof text, "%s %s", cvy_operations[CVY_POOLING_MAX + i % 4]->name,
             windows[i / 4 % (int)CVY_COUNT(windows)]);
    if (!cvy_problem_read(text, &own)) fail_msg("%s", text);
    own.accumulate = cvy_pooling_is_backward(&own) && i / 4 % 2;
    cvy_problem part = pool_as_parts(&own);
    compare_rows(&own, &part, false);
  }
}

/* Gaps between the images of what steps from image to image. */
static void spread(cvy_program_view *view, int64_t image) {
  if (view->stride[0] == image) view->stride[0] += test_between(&random_state, 0, 9);
}

static cvy_problem program_as_parts(const cvy_problem *own) {
  cvy_problem part = *own;
  cvy_program_problem *of = own->operation == CVY_REDUCE ? &part.reduce.of : &part.program;
  const cvy_array result = cvy_problem_output(own, 0);
  for (int i = 0; i < of->program.inputs; i++) {
    const cvy_array input = cvy_problem_input(own, i);
    spread(&of->input[i], cvy_array_image(&input, 1));
  }
  spread(&of->result[0], cvy_array_image(&result, 1));
  assert_true(cvy_problem_legal(&part));
  return part;
}

static void programs_have_the_bits_of_arrays(void **state) {
  (void)state;
  static const char *const programs[] = {
      "y0 = x0 * sigmoid(x0) on n4c3h9w11",
      "y0 = x0 + x1 on n3c40h20w20",
      "y0 = (x0 - x1) * x2 + x3 on n3c7h8w8 x1:channel x2:channel x3:image_channel",
      "y0 = x0 * index(c) on n5c6",
      "y0 = max(x0, x1) on n9000c3 x1:one",
      "y0 = sum over h w of x0 * x1 on n3c9h12w13",
      "y0 = maximum over c of x0 on n4c5h6w7",
      "y0 = variance over n h w of x0 on n3c8h20w20",
  };
  for (size_t i = 0; i < 8 * CVY_COUNT(programs); i++) {
    cvy_problem own;
    const char *text = programs[i % CVY_COUNT(programs)];
    if (!cvy_problem_read(text, &own)) fail_msg("%s", text);
    cvy_problem part = program_as_parts(&own);
    compare_rows(&own, &part, false);
  }
}

static void products_have_the_bits_of_arrays(void **state) {
  (void)state;
  static const char *const shapes[] = {
      "matmul a50x70 b70x30",     "matmul a70x50t b70x30",         "matmul a50x70 b30x70t",
      "matmul a3x40x60 b3x60x50", "matmul a3x40x60 b3x50x60t",     "matmul a3x40x60 b60x50",
      "matmul a3x60x40t b60x50",  "matmul a40x60 b3x60x50",        "matmul a3x40x60 b3x60x50 sum",
      "matmul a300x17 b17x6",     "matmul a3x60x40t b3x60x50 sum", "matmul a5x0 b0x3",
      "matmul a3x4x0 b3x0x5"};
  for (size_t i = 0; i < 3 * CVY_COUNT(shapes); i++) {
    cvy_problem own, part;
    if (!cvy_problem_read(shapes[i % CVY_COUNT(shapes)], &own))
      fail_msg("%s", shapes[i % CVY_COUNT(shapes)]);
    own.accumulate = i / CVY_COUNT(shapes) % 2;
    part = own;
    const cvy_matmul_problem *p = &own.matmul;
    if (!p->a_shared && p->m * p->k > 0) part.matmul.a = random_view(p->m * p->k);
    if (!p->b_shared && p->k * p->n > 0) part.matmul.b = random_view(p->k * p->n);
    if (!p->summed) part.matmul.y = random_view(p->m * p->n);
    assert_true(cvy_problem_legal(&part));
    compare_rows(&own, &part, false);
  }
}

/* Small integers are exact, except where a row mixes neighbours. */
static void check_against_reference(const convoy_conv *conv, convoy_direction direction,
                                    const int64_t *x, const int64_t *w, const cvy_problem *part) {
  bool swap = conv->transposed && direction == CONVOY_BACKWARD_WEIGHTS;
  elements with = elements_of(part);
  float *got = malloc((size_t)(with.count + 1) * sizeof(float));
  ref_value *wanted = malloc((size_t)(with.count + 1) * sizeof *wanted);
  assert_true(got && wanted);
  ref_run(conv, direction, x, w, with.in[swap], with.in[!swap], wanted);
  for (int32_t row = 0; cvy_backend_cpu.algorithms[row]; row++) {
    if (!takes(row, part) || cvy_backend_cpu.algorithms[row]->error_growth > 0) continue;
    run_row(part, row, &with, got);
    for (int64_t i = 0; i < with.count; i++) {
      double value = wanted[i].value + (part->accumulate ? (double)with.out[i] : 0.0);
      char text[CONVOY_PROBLEM_TEXT];
      if ((double)got[i] == value) continue;
      cvy_problem_text(part, text, sizeof text);
      fail_msg("%s: element %lld of %s is %g, not %g", cvy_backend_cpu.algorithms[row]->name,
               (long long)i, text, (double)got[i], value);
    }
  }
  free(got);
  free(wanted);
  free_elements(&with);
}

static void random_problems_are_those_of_the_reference(void **state) {
  (void)state;
  int checked = 0;
  for (int i = 0; i < 400; i++) {
    convoy_conv conv;
    int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
    cvy_problem own;
    test_random_conv(&random_state, &conv, x, w);
    convoy_direction d = (convoy_direction)(i % CONVOY_DIRECTIONS);
    float beta = i % 3 == 0 && d != CONVOY_FORWARD ? 1.0f : 0.0f;
    if (cvy_conv_make(&conv, d, x, w, beta, false, NULL, &own) || cvy_problem_empty(&own)) continue;
    if (cvy_conv_count(&own, CVY_X) > 2000 || cvy_conv_count(&own, CVY_Y) > 2000) continue;
    cvy_problem part = as_parts(&own);
    check_against_reference(&conv, d, x, w, &part);
    checked++;
  }
  assert_true(checked > 100);
}

int main(void) {
  const cvy_open_options options = {.threads = 3, .workspace_limit = INT64_C(64) << 20};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convolutions_have_the_bits_of_arrays),
      cmocka_unit_test(larger_ones_do_too),
      cmocka_unit_test(every_row_of_convolution_ran),
      cmocka_unit_test(pools_have_the_bits_of_arrays),
      cmocka_unit_test(programs_have_the_bits_of_arrays),
      cmocka_unit_test(products_have_the_bits_of_arrays),
      cmocka_unit_test(random_problems_are_those_of_the_reference),
  };
  if (cvy_backend_cpu.open(0, &options, &device)) return EXIT_FAILURE;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cvy_backend_cpu.close(device);
  return failed;
}
