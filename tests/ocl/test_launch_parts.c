/* Launches that would take long are cut into parts: a device that may be kept busy for next to no
 * time is given many of them, and the same bits come back. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "counting.h"
#include "engine.h"
#include "problem/conv/conv.h"

static test_engine whole, parted;

/* Opens the same device once more, with launches of a nanosecond. */
static void open_parted(void) {
  cvy_facts facts[16];
  cvy_open_options options = {.workspace_limit = INT64_C(64) << 20, .dispatch = 1e-9};
  const char *name = whole.backend->facts(whole.device)->info.id;
  int32_t count = 0;
  assert_int_equal(whole.backend->list(&options, facts, 16, &count), CONVOY_OK);
  parted = whole;
  for (int32_t i = 0; i < count && i < 16; i++) {
    if (strcmp(facts[i].info.id, name) == 0)
      assert_int_equal(whole.backend->open(i, &options, &parted.device), CONVOY_OK);
  }
}

/* ---------------------------------------------------------------------------- launches */

/* The layer counts the launches. */
static faults_control *layer;

static uint64_t launches(void) {
  return faults_control_calls(layer, "clEnqueueNDRangeKernel");
}

/* ------------------------------------------------------------------------------- cases */

static float *values(int64_t count) {
  float *out = test_engine_values(count, 0);
  assert_non_null(out);
  return out;
}

static void make_problem(convoy_direction direction, int64_t groups, cvy_problem *out) {
  convoy_conv conv = CONVOY_CONV_INIT(2);
  const int64_t x[] = {4, 16, 40, 40}, w[] = {16, 16 / groups, 3, 3};
  conv.groups = groups;
  for (int axis = 0; axis < 2; axis++) conv.pad_begin[axis] = conv.pad_end[axis] = 1;
  assert_int_equal(cvy_conv_make(&conv, direction, x, w, 0, false, NULL, out), CONVOY_OK);
}

static void compare(int32_t index, const cvy_problem *problem) {
  const cvy_algorithm *row = whole.backend->algorithms[index];
  int64_t count = cvy_conv_count(problem, cvy_conv_out(problem));
  float *a = values(cvy_conv_count(problem, cvy_conv_in(problem, 0)));
  float *b = values(cvy_conv_count(problem, cvy_conv_in(problem, 1)));
  float *one = values(count), *many = values(count);
  cvy_params params = {{0}};
  if (row->defaults) row->defaults(problem, whole.backend->facts(whole.device), &params);
  uint64_t begin = launches();
  assert_int_equal(test_engine_run(&whole, problem, index, &params, a, b, NULL, one), CONVOY_OK);
  uint64_t middle = launches();
  assert_int_equal(test_engine_run(&parted, problem, index, &params, a, b, NULL, many), CONVOY_OK);
  if (launches() - middle <= 2 * (middle - begin)) { /* some have few work-groups to cut */
    fail_msg("%s, direction %d: %d launches became %d", row->name, (int)problem->operation,
             (int)(middle - begin), (int)(launches() - middle));
  }
  if (memcmp(one, many, (size_t)count * sizeof *one) != 0)
    fail_msg("%s, direction %d: other bits", row->name, (int)problem->operation);
  free(a);
  free(b);
  free(one);
  free(many);
}

static void launch_parts_give_the_same_bits(void **state) {
  (void)state;
  int compared = 0;
  for (int32_t row = 0; whole.backend->algorithms[row]; row++) {
    for (int direction = CONVOY_FORWARD; direction <= CONVOY_BACKWARD_WEIGHTS; direction++) {
      for (int64_t groups = 1; groups <= 16; groups *= 16) {
        cvy_problem problem;
        make_problem((convoy_direction)direction, groups, &problem);
        if (!test_engine_takes(&whole, whole.backend->algorithms[row], &problem)) continue;
        compare(row, &problem);
        compared++;
      }
    }
  }
  print_message("%d cases\n", compared);
  assert_true(compared >= 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launch_parts_give_the_same_bits),
  };
  layer = test_counting_begin();
  if (!layer) return 1;
  int status = test_engine_open(&whole, INT64_C(64) << 20);
  if (status) {
    test_counting_end(layer);
    return status;
  }
  open_parted();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  test_engine_close(&parted);
  test_engine_close(&whole);
  test_counting_end(layer);
  return failed;
}
