/* src/problem: the gradients of programs and reductions as steps. */
#include "common/cmocka.h"
#include "problem/program/program.h"
#include "program/random_program.h"
#include "unit/gradient_check.h"

enum { AXES = CVY_PROGRAM_AXES };

/* ------------------------------------------------------------------------------------- random */

/* As many elements as are soon computed; sometimes none. */
static void random_extents(test_random *random, int64_t *extent) {
  for (int axis = 0; axis < AXES; axis++)
    extent[axis] = test_between(random, 0, 2) ? test_between(random, 2, 4) : 1;
  if (test_between(random, 0, 49) == 0) extent[test_between(random, 0, AXES - 1)] = 0;
}

/* One element for all along some axes. */
static cvy_program_view random_view(test_random *random, const int64_t *extent) {
  uint32_t axes = test_between(random, 0, 2) ? (uint32_t)test_between(random, 0, 31) : 31;
  cvy_program_view view = {.type = CONVOY_FLOAT32};
  int64_t stride = 1;
  for (int axis = AXES - 1; axis >= 0; axis--) {
    if (!(axes >> axis & 1) || extent[axis] <= 1) continue;
    view.stride[axis] = stride;
    stride *= extent[axis];
  }
  return view;
}

static void random_operands(test_random *random, cvy_program_problem *of) {
  for (int i = 0; i < of->program.inputs; i++) of->input[i] = random_view(random, of->extent);
  if (!cvy_program_uses_of(&of->program).random) return;
  of->seed = test_next(random);
  of->run = test_next(random);
  of->node = test_next(random);
}

static void random_program(test_random *random, cvy_problem *out) {
  static const cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  int64_t extent[AXES];
  cvy_program program;
  memset(out, 0, sizeof *out);
  random_extents(random, extent);
  test_random_program(random, test_between(random, 0, 3) ? TEST_SMOOTH : TEST_TAME,
                      (int)test_between(random, 1, 8), &program);
  cvy_program_problem_init(&program, extent, full, &out->program);
  random_operands(random, &out->program);
  if (cvy_program_make(&out->program, out)) fail_msg("%s", cvy_last_error());
}

static void random_reduction(test_random *random, cvy_problem *out) {
  cvy_problem program;
  cvy_reduction how = {.axes = (uint8_t)test_between(random, 1, 31),
                       .results = (uint8_t)test_between(random, 1, CVY_PROGRAM_RESULTS)};
  static const cvy_program_class full[CVY_PROGRAM_INPUTS] = {CVY_CLASS_FULL};
  random_program(random, &program);
  for (int k = 0; k < how.results; k++) {
    how.result[k].kind = (uint8_t)test_between(random, 0, CVY_REDUCE_KINDS - 1);
    how.result[k].value = (uint8_t)test_between(random, 0, program.program.program.results - 1);
  }
  memset(out, 0, sizeof *out);
  cvy_reduce_problem_init(&program.program.program, &how, program.program.extent, full,
                          &out->reduce);
  random_operands(random, &out->reduce.of);
  if (cvy_reduce_make(&out->reduce, out)) fail_msg("%s", cvy_last_error());
}

/* Of some inputs for some results, mostly all. */
static void check_random(uint64_t seed, void make(test_random *, cvy_problem *)) {
  test_random random = {seed};
  test_gradient_counts counts = {0};
  int refused = 0;
  for (int i = 0; i < 1500; i++) {
    cvy_problem p;
    make(&random, &p);
    uint32_t all = (1u << cvy_problem_inputs(&p)) - 1;
    uint32_t outputs = (1u << cvy_problem_outputs(&p)) - 1;
    uint32_t wanted = test_between(&random, 0, 2) ? all : (uint32_t)test_next(&random) & all;
    uint32_t given = test_between(&random, 0, 2) ? outputs : (uint32_t)test_next(&random) & outputs;
    if (test_check_gradient(&random, &p, wanted, given, 3, &counts)) refused++;
  }
  print_message("%d checked, %d skipped, %d steps, %d refused\n", counts.checked, counts.skipped,
                counts.steps, refused);
  assert_true(refused < 20 && counts.checked > 9 * counts.skipped && counts.steps > 1000);
}

static void programs_against_differences(void **state) {
  (void)state;
  check_random(41, random_program);
}

static void reductions_against_differences(void **state) {
  (void)state;
  check_random(42, random_reduction);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_against_differences),
      cmocka_unit_test(reductions_against_differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
