/* The taps of the phases of cpu.implicit_gemm, against their definition. */
#include <string.h>
#include <time.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "cpu/implicit_gemm/maps.h"

#define MOST 128 /* taps, and phases: 5 x 5 x 5 at most */
#define LARGE 128

/* A phase has the taps whose distance from the first leaves its remainder of the stride,
 * ascending. */
static bool belongs(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t tap, int64_t phase) {
  const cvy_problem *p = &plan->whole;
  for (int i = 2; i >= 0; i--) {
    int64_t at = tap % p->conv.filter[i], stride = plan->data ? p->conv.stride[i] : 1;
    if (at * p->conv.dilation[i] % stride != phase % stride) return false;
    tap /= p->conv.filter[i];
    phase /= stride;
  }
  return true;
}

static void check_order(const cvy_cpu_implicit_gemm_maps_plan *plan) {
  int64_t begin[MOST + 1], order[MOST], count = 0;
  cvy_cpu_implicit_gemm_order(plan, begin, order);
  for (int64_t phase = 0; phase < plan->phases; phase++) {
    assert_int_equal(begin[phase], count);
    for (int64_t tap = 0; tap < plan->taps; tap++)
      if (belongs(plan, tap, phase)) assert_int_equal(order[count++], tap);
  }
  assert_int_equal(begin[plan->phases], count);
  assert_int_equal(count, plan->taps);
}

static cvy_cpu_implicit_gemm_maps_plan plan_of(const int64_t filter[3], const int64_t stride[3],
                                               const int64_t dilation[3], bool data) {
  cvy_cpu_implicit_gemm_maps_plan plan = {.data = data, .taps = 1, .phases = 1};
  for (int i = 0; i < 3; i++) {
    plan.whole.conv.filter[i] = filter[i];
    plan.whole.conv.stride[i] = stride[i];
    plan.whole.conv.dilation[i] = dilation[i];
    plan.taps *= filter[i];
    if (data) plan.phases *= stride[i];
  }
  return plan;
}

static void each_phase_has_its_taps(void **state) {
  (void)state;
  test_random random = {11};
  for (int round = 0; round < 5000; round++) {
    int64_t drawn[3][3];
    for (int i = 0; i < 9; i++) drawn[i / 3][i % 3] = test_between(&random, 1, 5);
    cvy_cpu_implicit_gemm_maps_plan plan =
        plan_of(drawn[0], drawn[1], drawn[2], test_between(&random, 0, 3) > 0);
    check_order(&plan);
  }
}

/* The work must not be phases times taps, which here would take seconds. */
static void large_strides_cost_little(void **state) {
  (void)state;
  static int64_t begin[LARGE * LARGE + 1], order[LARGE * LARGE];
  const int64_t large[] = {1, LARGE, LARGE}, one[] = {1, 1, 1};
  cvy_cpu_implicit_gemm_maps_plan plan = plan_of(large, large, one, true);
  clock_t before = clock();
  cvy_cpu_implicit_gemm_order(&plan, begin, order);
  assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 0.3);
  for (int64_t i = 0; i < plan.taps; i++) assert_true(begin[i] == i && order[i] == i);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_phase_has_its_taps),
      cmocka_unit_test(large_strides_cost_little),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
