/* Programs over arrays: what problems are legal, and that the CPU engine gives every element the
 * bits of the definition, on every instruction set, with one thread and with several.
 *
 *   test_program_arrays [PROBLEMS] */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "cpu/program/apply.h"
#include "cpu/threads/denormals.h"
#include "program/arrays.h"
#include "program/nest.h"
#include "program/simd_sets.h"

static int problems = 4000;

/* ------------------------------------------------------------------------------------ problems */

static cvy_program parsed(const char *text) {
  cvy_program program;
  if (cvy_program_parse(text, &program, NULL)) fail_msg("'%s': %s", text, cvy_last_error());
  return program;
}

static cvy_program_problem batch_norm(void) {
  static const int64_t extent[] = {16, 64, 1, 80, 40};
  static const cvy_program_class classes[] = {CVY_CLASS_FULL, CVY_CLASS_CHANNEL, CVY_CLASS_CHANNEL};
  cvy_program program = parsed("y = x * scale + shift");
  cvy_program_problem problem;
  cvy_program_problem_init(&program, extent, classes, &problem);
  return problem;
}

static void problems_are_flat(void **state) {
  (void)state;
  assert_int_equal(sizeof(cvy_program_view), 8 + CVY_PROGRAM_AXES * 8);
  assert_int_equal(sizeof(cvy_program_problem),
                   sizeof(cvy_program) + CVY_PROGRAM_AXES * 8 + 24 * sizeof(cvy_program_view) + 24);
}

static void classes_are_strides(void **state) {
  (void)state;
  static const int64_t extent[] = {2, 3, 1, 4, 5};
  static const int64_t strides[][CVY_PROGRAM_AXES] = {
      [CVY_CLASS_FULL] = {60, 20, 0, 5, 1},  [CVY_CLASS_IMAGE_CHANNEL] = {3, 1, 0, 0, 0},
      [CVY_CLASS_CHANNEL] = {0, 1, 0, 0, 0}, [CVY_CLASS_POSITION] = {0, 0, 0, 5, 1},
      [CVY_CLASS_ONE] = {0, 0, 0, 0, 0},
  };
  for (int what = 0; what < CVY_CLASS_STRIDED; what++) {
    cvy_program_view view = cvy_program_view_of((cvy_program_class)what, CONVOY_FLOAT32, extent);
    assert_memory_equal(view.stride, strides[what], sizeof strides[what]);
    assert_int_equal(cvy_program_class_of(&view, extent), what);
  }
  cvy_program_view slice = cvy_program_view_of(CVY_CLASS_FULL, CONVOY_UINT8, extent);
  slice.stride[0] = 100;
  assert_int_equal(cvy_program_class_of(&slice, extent), CVY_CLASS_STRIDED);
  assert_int_equal(cvy_program_reach(&slice, extent), 160);
}

static void counts(void **state) {
  (void)state;
  cvy_program_problem problem = batch_norm();
  assert_int_equal(cvy_program_problem_check(&problem), CONVOY_OK);
  assert_int_equal(cvy_program_count(problem.extent), 16 * 64 * 3200);
}

static void nests_are_as_shallow_as_can_be(void **state) {
  (void)state;
  cvy_program_problem problem = batch_norm();
  cvy_program_nest nest;
  cvy_program_nest_of(&problem, 1, 0, &nest);
  assert_int_equal(nest.axes, 3);
  assert_int_equal(nest.extent[2], 3200);
  problem.input[1] = problem.input[2] =
      cvy_program_view_of(CVY_CLASS_ONE, CONVOY_FLOAT32, problem.extent);
  cvy_program_nest_of(&problem, 1, 0, &nest);
  assert_int_equal(nest.axes, 1);
  problem.result[0].stride[0] += 3200; /* into a larger array */
  cvy_program_nest_of(&problem, 1, 0, &nest);
  assert_int_equal(nest.axes, 2);
  assert_int_equal(nest.extent[1], 64 * 3200);
  cvy_program_nest_of(&problem, 1, 0x1d, &nest); /* c outside */
  assert_int_equal(nest.axes, 3);
  assert_int_equal(nest.outer, 1);
  assert_int_equal(nest.extent[0], 64);
  assert_int_equal(nest.index[0], 3200);
}

static void bytes_from_elsewhere_are_checked(void **state) {
  (void)state;
  static const struct {
    int64_t change[3]; /* which number of the problem, as int64, what to; the place behind it */
    const char *sentence;
  } cases[] = {
      {{0, -1}, "the extent of n is -1"},
      {{1, INT64_C(1) << 40}, "the extent of c is 1099511627776"},
      {{10, -7}, "input 0 has stride -7 along w"},
      {{8, 7}, "input 0 has stride 7 along z, whose extent is 1"},
      {{6, INT64_C(1) << 55}, "input 0 reaches beyond 2^56"},
      {{5, 3}, "input 0 has element type 3"},
      {{5, INT64_C(1) << 32}, "input 0 has element type 0"},
      {{5 + 3 * 6, 5}, "views that are not used"},
      {{5 + CVY_PROGRAM_INPUTS * 6, 1}, "result 0 has element type 1, not float32"},
      {{5 + CVY_PROGRAM_INPUTS * 6 + 5, 2},
       "result 0 with strides 204800 3200 0 40 2 may have two elements"},
      {{5 + CVY_PROGRAM_INPUTS * 6 + 2, 0},
       "result 0 with strides 204800 0 0 40 1 may have two elements"},
      {{5 + (CVY_PROGRAM_INPUTS + CVY_PROGRAM_RESULTS) * 6, 4},
       "seed, run and node are 4, 0, 0 without random()"},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program_problem problem = batch_norm();
    memcpy((char *)&problem + sizeof(cvy_program) + cases[i].change[0] * 8, &cases[i].change[1], 8);
    assert_int_equal(cvy_program_problem_check(&problem), CONVOY_ERR_ARGUMENT);
    if (!strstr(cvy_last_error(), cases[i].sentence))
      fail_msg("case %zu: '%s', not '%s'", i, cvy_last_error(), cases[i].sentence);
  }
  cvy_program_problem problem = batch_norm();
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) problem.extent[axis] = INT32_MAX;
  assert_int_equal(cvy_program_problem_check(&problem), CONVOY_ERR_ARGUMENT);
  assert_non_null(strstr(cvy_last_error(), "more than 2^56 elements"));
}

/* Bytes of every kind: whatever is accepted stays within what it says it reaches. */
static void any_bytes(void **state) {
  (void)state;
  test_random random = {91};
  int accepted = 0;
  for (int i = 0; i < 200000; i++) {
    cvy_program_problem problem = batch_norm();
    for (int changes = (int)test_between(&random, 1, 3); changes > 0; changes--) {
      size_t word = (size_t)test_between(&random, 0, (int64_t)sizeof problem / 8 - 1);
      uint64_t value = test_next(&random) >> test_between(&random, 0, 63);
      memcpy((char *)&problem + 8 * word, &value, 8);
    }
    if (cvy_program_problem_check(&problem)) continue;
    accepted++;
    for (int k = 0; k < problem.program.inputs; k++)
      assert_in_range(cvy_program_reach(&problem.input[k], problem.extent), 0, INT64_C(1) << 57);
  }
  assert_true(accepted > 100);
}

/* -------------------------------------------------------------------------------- the CPU engine
 */

static void run_on(const cvy_program_simd *set, cvy_threads *threads, bool in_place,
                   test_arrays *all) {
  static test_operand copies[CVY_PROGRAM_INPUTS];
  const cvy_program_problem *problem = &all->problem;
  cvy_program_call call = {.problem = problem, .threads = threads, .simd = set};
  test_operand *where[CVY_PROGRAM_RESULTS] = {all->result};
  for (int i = 0; i < problem->program.inputs; i++) {
    copies[i] = all->input[i];
    call.in[i] = test_operand_at(&copies[i], problem->input[i].type);
  }
  for (int k = 0; k < problem->program.results; k++) {
    where[k] = &all->result[k];
    for (int64_t i = 0; i < all->result[k].count; i++) all->result[k].memory.real[i] = 12345.678f;
  }
  /* The first result may lie where an input does. */
  for (int i = 0; in_place && i < problem->program.inputs && where[0] == &all->result[0]; i++) {
    if (problem->input[i].type != CONVOY_UINT8 &&
        !memcmp(problem->input[i].stride, problem->result[0].stride, sizeof(int64_t[5])))
      where[0] = &copies[i];
  }
  for (int k = 0; k < problem->program.results; k++)
    call.out[k] = where[k]->memory.real + where[k]->offset;
  size_t bytes = (size_t)cvy_program_apply_workspace(problem, cvy_threads_count(threads));
  call.workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
  assert_non_null(call.workspace);
  uint64_t mode = cvy_denormals_flush();
  cvy_program_apply_arrays(&call);
  cvy_denormals_restore(mode);
  free(call.workspace);
  if (where[0] != &all->result[0]) { /* put it where it is compared */
    int64_t reach = cvy_program_reach(&problem->result[0], problem->extent);
    memcpy(all->result[0].memory.real + all->result[0].offset, call.out[0], (size_t)reach * 4);
    for (int64_t i = 0; i < reach; i++) {
      int64_t at = all->result[0].offset + i;
      if (all->expected[0][at] == 12345.678f) all->result[0].memory.real[at] = 12345.678f;
    }
  }
}

static void check_problem(test_random *random, cvy_threads *threads, test_arrays *all) {
  bool in_place = test_between(random, 0, 3) == 0;
  for (int s = 0; s < test_set_count; s++) {
    run_on(test_sets[s], threads, in_place, all);
    for (int k = 0; k < all->problem.program.results; k++) {
      if (test_arrays_wrong(all, k, all->result[k].memory.real, test_sets[s]->name))
        fail_msg("%s%s", test_sets[s]->name, in_place ? ", in place" : "");
    }
  }
}

static void random_problems(void **state) {
  (void)state;
  static test_arrays all;
  test_random random = {17};
  cvy_threads *threads;
  int64_t plain = 0, elements = 0;
  assert_int_equal(cvy_threads_open(3, &threads), CONVOY_OK);
  for (int i = 0; i < problems; i++) {
    cvy_program program;
    test_random_program(&random, TEST_ANY, (int)test_between(&random, 1, 40), &program);
    test_arrays_views(&random, &program, i & 1, &all);
    assert_int_equal(cvy_program_problem_check(&all.problem), CONVOY_OK);
    test_arrays_memory(&random, i & 1, false, &all);
    test_arrays_expect(&all);
    check_problem(&random, i & 2 ? threads : NULL, &all);
    plain += all.plain;
    elements += all.elements;
  }
  cvy_threads_close(threads);
  print_message("%d problems, %lld elements, %lld without denormal numbers\n", problems,
                (long long)elements, (long long)plain);
  assert_true(plain > elements * 3 / 4);
}

static void programs_compiled_ahead(void **state) {
  (void)state;
  static test_arrays all;
  test_random random = {18};
  for (int f = 0; f < cvy_fused_count; f++) {
    cvy_program program = test_program_ahead(&cvy_fused_programs[f], 0.3f);
    for (int round = 0; round < 8; round++) {
      test_arrays_views(&random, &program, false, &all);
      for (int i = 0; i < all.problem.program.inputs; i++) {
        bool single = cvy_fused_programs[f].single >> i & 1;
        all.problem.input[i] = cvy_program_view_of(single ? CVY_CLASS_CHANNEL : CVY_CLASS_FULL,
                                                   CONVOY_FLOAT32, all.problem.extent);
      }
      test_arrays_memory(&random, false, false, &all);
      test_arrays_expect(&all);
      check_problem(&random, NULL, &all);
    }
  }
}

/* More elements than one thread gets, so that parts end inside rows. */
static void many_elements_by_many_threads(void **state) {
  (void)state;
  static const int64_t extents[][CVY_PROGRAM_AXES] = {
      {3, 7, 1, 41, 37}, {1, 1, 1, 1, 30001}, {5, 1201, 1, 1, 5}, {2, 3, 5, 7, 101}};
  static const cvy_program_class classes[] = {CVY_CLASS_FULL, CVY_CLASS_CHANNEL,
                                              CVY_CLASS_IMAGE_CHANNEL, CVY_CLASS_POSITION};
  static test_arrays all;
  cvy_program program = parsed("y = x * a + b * c + random() * index(c) - index(w)");
  test_random random = {19};
  for (size_t e = 0; e < CVY_COUNT(extents); e++) {
    for (int32_t count = 1; count <= 7; count += 2) {
      cvy_threads *threads;
      cvy_program_problem_init(&program, extents[e], classes, &all.problem);
      test_arrays_memory(&random, false, false, &all);
      test_arrays_expect(&all);
      assert_int_equal(cvy_threads_open(count, &threads), CONVOY_OK);
      check_problem(&random, threads, &all);
      cvy_threads_close(threads);
    }
  }
}

static void nothing_to_do(void **state) {
  (void)state;
  cvy_program_problem problem = batch_norm();
  problem.extent[0] = 0;
  for (int i = 0; i < 3; i++)
    problem.input[i] =
        cvy_program_view_of(i ? CVY_CLASS_CHANNEL : CVY_CLASS_FULL, CONVOY_FLOAT32, problem.extent);
  problem.result[0] = problem.input[0];
  assert_int_equal(cvy_program_problem_check(&problem), CONVOY_OK);
  assert_int_equal(cvy_program_reach(&problem.input[0], problem.extent), 0);
  cvy_program_apply_arrays(
      &(cvy_program_call){.problem = &problem, .simd = &cvy_program_simd_baseline});
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(problems_are_flat),
      cmocka_unit_test(classes_are_strides),
      cmocka_unit_test(counts),
      cmocka_unit_test(nests_are_as_shallow_as_can_be),
      cmocka_unit_test(bytes_from_elsewhere_are_checked),
      cmocka_unit_test(any_bytes),
      cmocka_unit_test(nothing_to_do),
      cmocka_unit_test(programs_compiled_ahead),
      cmocka_unit_test(many_elements_by_many_threads),
      cmocka_unit_test(random_problems),
  };
  if (argc == 2) problems = atoi(argv[1]);
  test_find_sets();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
