/* Every row of convolution, pooling, resampling, products and programs in the OpenCL engine on
 * operands that are parts of larger tensors: results are those of the definition, gaps that hold
 * NaN are not read, nothing is written there, and a part may begin anywhere that its alignment
 * allows. With the argument `tiny` there are a few small shapes.
 *
 * Each job is the only step of a plan, whose operands have places in arrays. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/part.h"
#include "common/random.h"
#include "engine.h"
#include "problem/conv/conv.h"
#include "problem/pooling/pooling.h"
#include "problem/resampling/resampling.h"

static test_engine engine;
static bool tiny;
static test_random random_state = {41};

/* ------------------------------------------------------------------------------------- arrays */

/* An operand on the device: the tensor, and where the part of it begins. */
typedef struct operand {
  cvy_array array;
  test_part memory;
  uint64_t tensor;
} operand;

static void upload(operand *to) {
  to->tensor = test_engine_array(&engine, to->memory.all.values, to->memory.all.count);
}

/* Every operand has a base of its own. */
static cvy_operand place_of(const operand *of, int32_t base) {
  int64_t offset = of->memory.begin - of->memory.all.values;
  return cvy_place(base, offset * (int64_t)sizeof(float));
}

/* A part begins as far aligned as its problem says, or further. */
static operand operand_of(cvy_array array, int aligned) {
  bool part = cvy_array_view_is_part(&array.view);
  int64_t count = cvy_array_count(&array), images = part ? array.extent[0] : 1;
  if (aligned < array.view.aligned) aligned = (int)array.view.aligned;
  int64_t offset = test_part_offset(aligned);
  return (operand){.array = array,
                   .memory = test_part_new(images, count / images, array.view.pitch, offset)};
}

static operand filled(cvy_array array, int aligned) {
  operand made = operand_of(array, aligned);
  float *values = malloc((size_t)cvy_array_count(&array) * sizeof *values);
  assert_non_null(values);
  test_fill_integers(&random_state, values, cvy_array_count(&array));
  test_part_put(&made.memory, values);
  free(values);
  return made;
}

static void download(operand *from) {
  const test_array *all = &from->memory.all;
  int64_t bytes = all->count * (int64_t)sizeof(float);
  assert_int_equal(command_read(engine.backend, engine.device, from->tensor, all->values, bytes),
                   CONVOY_OK);
}

static void drop(operand *of) {
  command_release(engine.backend, engine.device, of->tensor);
  test_part_free(&of->memory);
}

/* -------------------------------------------------------------------------------------- cases */

typedef struct one_case {
  cvy_problem problem;
  const cvy_algorithm *row;
  int32_t number; /* of the row */
  cvy_params params;
  int aligned; /* parts begin so at least */
  char text[CONVOY_PROBLEM_TEXT];
} one_case;

static double tolerance(const one_case *c, const cvy_values *from, int64_t index,
                        double magnitude) {
  /* Means of integers are rounded. */
  bool averages = c->row->operations & (CVY_POOLING_ALL | CVY_RESAMPLING_ALL);
  if (averages) return cvy_problem_bound(&c->problem, magnitude);
  if (c->row->error_growth == 0) return 0;
  double wide = cvy_conv_wide_magnitude(&c->problem, from, index, c->row->error_reach);
  return cvy_problem_bound(&c->problem, magnitude + c->row->error_growth * wide);
}

/* `before` is what the output held. */
static void compare(const one_case *c, const operand in[], const float *before,
                    const operand *out) {
  cvy_values from = {{in[0].memory.begin, in[1].memory.begin, in[2].memory.begin}};
  from.in[cvy_problem_inputs(&c->problem)] = before;
  for (int64_t i = 0; i < cvy_array_count(&out->array); i++) {
    cvy_element wanted = cvy_problem_element(&c->problem, &from, 0, i);
    double got = (double)out->memory.begin[cvy_array_place(&out->array, i)];
    if (!(fabs(got - wanted.value) <= tolerance(c, &from, i, wanted.magnitude)))
      fail_msg("%s: %s: element %lld is %g, not %g", c->row->name, c->text, (long long)i, got,
               wanted.value);
  }
  if (!test_part_intact(&out->memory)) fail_msg("%s: %s: wrote into a gap", c->row->name, c->text);
}

/* The plan's bases are the inputs and, last, the output. */
enum { MOST_BASES = 4 };

static void run_plan(const one_case *c, uint64_t plan, const operand in[], const operand *out) {
  const cvy_backend *b = engine.backend;
  int32_t inputs = cvy_problem_inputs(&c->problem);
  cvy_base bases[MOST_BASES] = {{0}};
  uint64_t ticket = 0, fault = 0;
  for (int32_t i = 0; i < inputs; i++) bases[i].id = in[i].tensor;
  bases[inputs].id = out->tensor;
  convoy_status status = command_plan_bind(b, engine.device, plan, 0, inputs + 1, bases);
  if (!status) status = command_plan_run(b, engine.device, plan, 0, &ticket);
  if (!status) status = b->wait(engine.device, ticket, NULL, &fault);
  if (status) fail_msg("%s: %s: %s", c->row->name, c->text, engine.module->last_error());
}

/* A plan of the job; all outputs are alike. */
static uint64_t make_plan(const one_case *c, const operand in[], const operand *out) {
  static uint64_t last_plan;
  int32_t inputs = cvy_problem_inputs(&c->problem);
  cvy_job job = {.algorithm = c->number, .params = c->params, .problem = c->problem};
  for (int32_t i = 0; i < inputs; i++) job.in[i] = place_of(&in[i], i);
  job.out[0] = place_of(out, inputs);
  convoy_status status = command_plan_job(engine.backend, engine.device, ++last_plan, &job);
  if (status) fail_msg("%s: %s: %s", c->row->name, c->text, engine.module->last_error());
  return last_plan;
}

/* The second time the step is captured, with an output elsewhere. */
static void run_case(one_case *c) {
  const cvy_problem *problem = &c->problem;
  operand in[MOST_BASES - 1] = {{.tensor = 0}}, out[2];
  cvy_problem_text(problem, c->text, sizeof c->text);
  assert_true(cvy_problem_legal(problem));
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) {
    in[i] = filled(cvy_problem_input(problem, i), c->aligned);
    upload(&in[i]);
  }
  operand before = filled(cvy_problem_output(problem, 0), c->aligned);
  uint64_t plan = make_plan(c, in, &before);
  for (int i = 0; i < 2; i++) {
    out[i] = operand_of(cvy_problem_output(problem, 0), c->aligned);
    if (problem->accumulate)
      memcpy(out[i].memory.all.values, before.memory.all.values,
             (size_t)before.memory.all.count * sizeof(float));
    upload(&out[i]);
    run_plan(c, plan, in, &out[i]);
    download(&out[i]);
  }
  command_plan_drop(engine.backend, engine.device, plan);
  compare(c, in, before.memory.begin, &out[0]);
  assert_memory_equal(out[0].memory.all.values, out[1].memory.all.values,
                      (size_t)out[0].memory.all.count * sizeof(float));
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++) drop(&in[i]);
  for (int i = 0; i < 2; i++) drop(&out[i]);
  test_part_free(&before.memory);
}

static bool find_row(const char *name, one_case *out) {
  const cvy_algorithm *const *rows = engine.backend->algorithms;
  for (out->number = 0; rows[out->number]; out->number++) {
    out->row = rows[out->number];
    if (strcmp(out->row->name, name) == 0) return true;
  }
  return false; /* built without CLBlast */
}

/* Parts aligned so; below 0, arrays of their own. */
static cvy_array_view view_of(int64_t image, int aligned) {
  if (aligned < 0) return (cvy_array_view){0, 0};
  return (cvy_array_view){test_part_pitch(image, aligned), aligned};
}

static void set_views(cvy_problem *problem, int x, int y) {
  problem->conv.y = view_of(cvy_conv_image(problem, CVY_Y), y);
  if (problem->operation != CVY_CONV_BACKWARD_BIAS)
    problem->conv.x = view_of(cvy_conv_image(problem, CVY_X), x);
}

/* ------------------------------------------------------------------- what a processor is given */

static const char *const shapes[] = {
    "n2c4h7w5 k6r3s2 stride2,1 pad1:0,0:1 dil1,2 groups2",
    "n3c5h4w6 k4r1s1",
    "n2c10h6w8 k9r3s3 pad1",
    "n3c4h5w4 k8r3s3 pad1 groups4",
    "n2c5h3w4 k4r1s1 stride2",
    "n2c3h8w8 k5r3s3 stride2 pad1",
    "n2c2h2w9 k3r1s9 pad0,4",
    "n2c2z3h2w4 k3t2r2s3 pad1:0,0,1",
    "n3c5h2w3 k4r2s3",
    "n2c3z2h1w4 k5t2r1s4 stride2,1,3",
};
enum { TINY_SHAPES = 2 };

/* All parameters are those that the engine chooses for the device, which is a processor. */
static void every_row_takes_parts(void **state) {
  (void)state;
  static const int aligned[][2] = {{0, 0}, {2, 1}, {1, 2}, {-1, 2}, {0, -1}};
  const cvy_algorithm *const *rows = engine.backend->algorithms;
  int ran[64] = {0}, turn = 0;
  for (size_t s = 0; s < (tiny ? TINY_SHAPES : CVY_COUNT(shapes)); s++) {
    for (int d = 0; d < CVY_CONV_OPERATIONS; d++) {
      char text[CONVOY_PROBLEM_TEXT];
      one_case c = {.row = NULL};
      snprintf(text, sizeof text, "%s %s", shapes[s], cvy_operations[d]->name);
      for (c.number = 0; rows[c.number]; c.number++) {
        c.row = rows[c.number];
        const int *how = aligned[turn++ % (int)CVY_COUNT(aligned)];
        if (!cvy_problem_read(text, &c.problem)) fail_msg("%s", text);
        c.problem.accumulate = turn % 3 == 0;
        set_views(&c.problem, how[0], how[1]);
        if (!test_engine_takes(&engine, c.row, &c.problem)) continue;
        c.params = (cvy_params){{0}};
        if (c.row->defaults)
          c.row->defaults(&c.problem, engine.backend->facts(engine.device), &c.params);
        run_case(&c);
        ran[c.number]++;
      }
    }
  }
  for (int row = 0; rows[row]; row++)
    if (rows[row]->operations & CVY_CONV_ALL) assert_true(tiny || ran[row] >= 2);
}

/* ------------------------------------------------------------------------ what a GPU is given */

/* Parameters with the geometry compiled in, and with vectors wherever extents allow them: 0s are
 * what the engine chooses for a GPU. Then parts aligned for vectors, and those that are not. */
static const struct {
  const char *row, *problem;
  cvy_params params;
  bool tiny;
} compiled[] = {
    {"ocl.implicit_gemm", "n3c8h4w6 k12r1s1 forward", {{16, 64, 8, 4, 4, 1, 2}}, false},
    {"ocl.implicit_gemm", "n3c8h4w6 k12r1s1 backward_data", {{16, 64, 8, 4, 4, 1, 2}}, false},
    {"ocl.implicit_gemm", "n3c8h4w6 k12r1s1 backward_weights", {{16, 32, 32, 4, 4, 2, 2}}, false},
    {"ocl.implicit_gemm", "n2c9h4w3 k7r3s3 pad1 forward", {{4, 64, 4, 4, 4, 3, 2}}, false},
    {"ocl.implicit_gemm",
     "n2c9h6w4 k7r3s3 stride2 pad1 backward_data",
     {{16, 64, 8, 4, 4, 1, 2}},
     false},
    {"ocl.implicit_gemm",
     "n2c36h5w5 k20r1s1 stride2 groups2 backward_data",
     {{16, 64, 8, 4, 4, 2, 2}},
     false},
    {"ocl.strided_data", "n2c5h8w8 k6r3s3 stride2 pad1 backward_data", {{0}}, false},
    {"ocl.strided_data", "n2c5h8w8 k6r3s3 stride2 pad1 backward_data", {{4, 16, 1, 4, 3}}, true},
    {"ocl.few_channels", "n2c3h4w8 k5r3s3 pad1 forward", {{4, 1, 4}}, true},
    {"ocl.few_channels", "n2c3h4w8 k5r3s3 pad1 backward_data", {{3, 2, 4}}, false},
    {"ocl.depthwise", "n3c4h4w8 k8r3s3 pad1 groups4 forward", {{2, 4, 2}}, true},
    {"ocl.depthwise", "n3c4h4w8 k8r3s3 pad1 groups4 backward_data", {{2, 4, 2}}, false},
    {"ocl.depthwise", "n3c4h4w8 k8r3s3 pad1 groups4 backward_weights", {{1, 1, 2}}, false},
    {"ocl.long_rows", "n2c1h3w40 k5r1s17 pad0,8 forward", {{0}}, false},
    {"ocl.long_rows", "n2c1h3w40 k5r1s17 pad0,8 backward_weights", {{0}}, false},
    {"ocl.winograd", "n3c9h8w8 k10r3s3 pad1 forward", {{4, 16, 32, 8, 4, 4, 1, 1}}, false},
    {"ocl.winograd", "n3c9h8w8 k10r3s3 pad1 backward_weights", {{4, 16, 16, 8, 4, 4, 2, 1}}, false},
    {"ocl.winograd", "n2c9h6w6 k40r3s3 pad0:1,2 forward", {{2, 32, 32, 8, 8, 8, 1, 2}}, false},
    {"ocl.winograd", "n2c40h6w6 k9r3s3 pad1 backward_data", {{2, 32, 32, 8, 8, 8, 1, 2}}, false},
    {"ocl.winograd",
     "n2c16h6w6 k16r3s3 pad1 backward_weights",
     {{2, 16, 16, 8, 8, 8, 2, 2}},
     false},
};

static void compiled_geometry_heeds_alignment(void **state) {
  (void)state;
  static const int aligned[][2] = {{2, 2}, {0, 1}};
  cvy_facts facts = *engine.backend->facts(engine.device);
  facts.info.type = CONVOY_DEVICE_GPU;
  facts.info.compute_units = 20;
  for (size_t i = 0; i < CVY_COUNT(compiled); i++) {
    for (size_t how = 0; how < CVY_COUNT(aligned); how++) {
      one_case c = {.params = compiled[i].params};
      if (tiny && !compiled[i].tiny) continue;
      assert_true(find_row(compiled[i].row, &c));
      if (!cvy_problem_read(compiled[i].problem, &c.problem)) fail_msg("%s", compiled[i].problem);
      set_views(&c.problem, aligned[how][0], aligned[how][1]);
      if (!c.params.value[0]) c.row->defaults(&c.problem, &facts, &c.params);
      if (!c.row->valid(&c.params, &c.problem, engine.backend->facts(engine.device)))
        fail_msg("%s: parameters for %s", compiled[i].row, compiled[i].problem);
      assert_true(test_engine_takes(&engine, c.row, &c.problem));
      run_case(&c);
    }
  }
}

/* ------------------------------------------------------------------------------------ pooling */

static const char *const windows[] = {"n3c4h6w5 r2s2 stride2", "n2c3h5w6 r3s3 pad1",
                                      "n2c2z3h4w3 t2r2s2 stride2 pad1"};

static void pools_take_parts(void **state) {
  (void)state;
  int turn = 0;
  for (size_t w = 0; w < (tiny ? 1 : CVY_COUNT(windows)); w++) {
    for (int32_t of = CVY_POOLING_MAX; of <= CVY_POOLING_AVERAGE_BACKWARD; of++, turn++) {
      one_case c = {.row = NULL};
      char text[CONVOY_PROBLEM_TEXT];
      assert_true(find_row("ocl.pool", &c));
      snprintf(text, sizeof text, "%s %s", cvy_operations[of]->name, windows[w]);
      if (!cvy_problem_read(text, &c.problem)) fail_msg("%s", text);
      c.problem.accumulate = cvy_pooling_is_backward(&c.problem) && w % 2;
      cvy_pooling_problem *p = &c.problem.pooling;
      int64_t in = p->c * cvy_pooling_in_volume(&c.problem);
      p->y = view_of(p->c * cvy_pooling_out_volume(&c.problem), turn % 3);
      if (of != CVY_POOLING_AVERAGE_BACKWARD) p->x = view_of(in, (turn + 1) % 3);
      if (cvy_pooling_is_backward(&c.problem)) p->dx = view_of(in, turn % 4 - 1);
      run_case(&c);
    }
  }
}

/* --------------------------------------------------------------------------------- resampling */

/* Rows of fours that are doubled, such that are not, and others; the first of them both ways. */
static const char *const resamplings[] = {
    "resample_nearest n2c3h3w4 h6w8",     "resample_nearest_backward n2c3h3w4 h6w8",
    "resample_linear n2c3h3w4 h6w8",      "resample_linear_backward n2c3h3w4 h6w8",
    "resample_nearest n2c2h3w5 h5w7",     "resample_nearest_backward n2c2h3w5 h5w12 exact",
    "resample_linear n2c2z3h1w5 z4h2w12", "resample_linear_backward n2c2w5 w7 aligned",
};
enum { TINY_RESAMPLINGS = 2 };

static void resamplings_take_parts(void **state) {
  (void)state;
  static const int aligned[][2] = {{2, 2}, {1, 2}, {0, 2}, {2, 1}, {-1, 2}, {0, -1}};
  for (size_t r = 0; r < (tiny ? TINY_RESAMPLINGS : CVY_COUNT(resamplings)); r++) {
    for (size_t how = 0; how < CVY_COUNT(aligned); how++) {
      one_case c = {.row = NULL};
      assert_true(find_row("ocl.resample", &c));
      if (!cvy_problem_read(resamplings[r], &c.problem)) fail_msg("%s", resamplings[r]);
      cvy_resampling_problem *p = &c.problem.resampling;
      p->x = view_of(p->c * cvy_resampling_in_volume(&c.problem), aligned[how][0]);
      p->y = view_of(p->c * cvy_resampling_out_volume(&c.problem), aligned[how][1]);
      run_case(&c);
    }
  }
}

/* ----------------------------------------------------------------------------------- products */

static const char *const products[] = {
    "matmul a5x7 b7x6",   "matmul a7x5t b7x6",  "matmul a3x9x7 b3x7x5",     "matmul a3x9x7 b3x5x7t",
    "matmul a3x9x7 b7x5", "matmul a9x7 b3x7x5", "matmul a3x9x7 b3x7x5 sum", "matmul a9x70 b70x5"};
enum { TINY_PRODUCTS = 3 };
/* Whose sums are cut into slices, whatever the device. */
static const cvy_params sliced = {{16, 16, 8, 4, 4, 8}};

static void products_take_parts(void **state) {
  (void)state;
  const cvy_algorithm *const *rows = engine.backend->algorithms;
  int turn = 0;
  for (size_t i = 0; i < (tiny ? TINY_PRODUCTS : CVY_COUNT(products)); i++) {
    one_case c = {.row = NULL};
    for (c.number = 0; rows[c.number]; c.number++, turn++) {
      c.row = rows[c.number];
      c.params = (cvy_params){{0}};
      if (!cvy_problem_read(products[i], &c.problem)) fail_msg("%s", products[i]);
      c.problem.accumulate = turn % 2;
      cvy_matmul_problem *p = &c.problem.matmul;
      if (!p->a_shared) p->a = view_of(p->m * p->k, turn % 3);
      if (!p->b_shared) p->b = view_of(p->k * p->n, turn % 4 - 1);
      if (!p->summed) p->y = view_of(p->m * p->n, (turn + 1) % 3);
      bool is_library = tiny && c.row->serves; /* CLBlast's kernels are its own */
      if (is_library || !test_engine_takes(&engine, c.row, &c.problem)) continue;
      if (c.row->defaults)
        c.row->defaults(&c.problem, engine.backend->facts(engine.device), &c.params);
      run_case(&c);
      if (strcmp(c.row->name, "ocl.matmul") != 0) continue;
      c.params = sliced;
      run_case(&c);
    }
  }
}

/* ----------------------------------------------------------------------------------- programs */

/* What they compute of whole numbers is exact. Vectors are where all operands have them. */
static const char *const programs[] = {
    "y0 = max(x0 * 2 + x1, 1) on n3c4h2w6 x0:strides=52,12,0,6,1 x1:channel y0:strides=56,12,0,6,1",
    "y0 = x0 + x1 on n3c4h2w6 x1:strides=52,12,0,6,1 y0:strides=61,12,0,6,1",
    "y0 = sum over h w of x0 on n3c4h2w6 x0:strides=52,12,0,6,1 y0:strides=9,1,0,0,0",
    "y0 = max(x0, x1) on n2c8h8w8 x1:one y0:strides=1024,64,0,8,1",
    "y0 = maximum over c of x0 on n3c5h4w4 x0:strides=83,16,0,4,1 y0:strides=20,0,0,4,1",
    "y0 = sum over n h w of x0 * x1 on n3c40h4w4 x0:strides=900,16,0,4,1 x1:strides=644,16,0,4,1",
};
enum { TINY_PROGRAMS = 3 };

static void programs_take_parts(void **state) {
  (void)state;
  size_t count = tiny ? TINY_PROGRAMS : CVY_COUNT(programs);
  for (size_t i = 0; i < 2 * count; i++) {
    one_case c = {.aligned = i < count ? 0 : CVY_ARRAY_VIEW_MOST_ALIGNED};
    if (!cvy_problem_read(programs[i % count], &c.problem)) fail_msg("%s", programs[i % count]);
    assert_true(find_row(c.problem.operation == CVY_REDUCE ? "ocl.reduce" : "ocl.program", &c));
    assert_true(test_engine_takes(&engine, c.row, &c.problem));
    run_case(&c);
  }
}

/* ------------------------------------------------------------------------------------- limits */

/* 32-bit indices reach no further than the gaps let them. */
static void wide_gaps_need_wide_indices(void **state) {
  (void)state;
  one_case c = {.row = NULL};
  char reason[192] = "";
  cvy_text text = cvy_text_in(reason, sizeof reason);
  assert_true(find_row("ocl.implicit_gemm", &c));
  assert_true(cvy_problem_read("n3c8h4w6 k12r1s1 forward, x 600000000 apart by 4", &c.problem));
  assert_true(test_engine_takes(&engine, c.row, &c.problem));
  c.problem.conv.x.pitch = 700000000;
  assert_false(c.row->accepts(&c.problem, engine.backend->facts(engine.device), &text));
  assert_non_null(strstr(reason, "2100000000 elements needs 64-bit indices"));
  assert_true(find_row("ocl.direct", &c));
  assert_true(test_engine_takes(&engine, c.row, &c.problem));
}

int main(int count, char **given) {
  tiny = count > 1 && strcmp(given[1], "tiny") == 0;
  int ready = test_engine_open(&engine, INT64_C(64) << 20);
  if (ready) return ready;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_takes_parts),
      cmocka_unit_test(compiled_geometry_heeds_alignment),
      cmocka_unit_test(pools_take_parts),
      cmocka_unit_test(resamplings_take_parts),
      cmocka_unit_test(products_take_parts),
      cmocka_unit_test(programs_take_parts),
      cmocka_unit_test(wide_gaps_need_wide_indices),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&engine);
  return failed;
}
