/* How cpu.implicit_gemm cuts backward_weights into units: what a unit transposes again of its
 * neighbours' x stays in proportion, whatever the filter, its dilation and the width of rows. Where
 * it did not, the gradient of a filter n x 1 took thirty times as long as with one row of pixels
 * less. */
#include "common/case.h"
#include "common/cmocka.h"
#include "common/random.h"
#include "cpu/implicit_gemm/backward_weights.h"
#include "problem/conv/conv.h"

enum { MOST_TIMES = 3 }; /* a unit's own places and its neighbours', in its own */

static cvy_problem problem_of(const char *text) {
  test_case given;
  cvy_problem problem;
  assert_true(test_case_parse(text, &given));
  assert_int_equal(cvy_conv_make(&given.conv, CONVOY_BACKWARD_WEIGHTS, given.x_shape, given.w_shape,
                                 0.0f, false, NULL, &problem),
                   CONVOY_OK);
  return problem;
}

static int64_t extent_of(const cvy_problem *block, int axis) {
  return cvy_cpu_implicit_gemm_transposed_of(block).extent[axis];
}

static void check(const cvy_problem *problem, int32_t threads) {
  cvy_facts facts = {.info.compute_units = threads};
  cvy_cpu_implicit_gemm_weights_plan plan = cvy_cpu_implicit_gemm_weights_plan_for(problem, &facts);
  int64_t grains = plan.units.grains.count, units = 0, transposed = 0, next;
  int64_t whole = extent_of(&plan.p, plan.units.axis);
  for (int64_t i = 0; i < grains; i = next, units++) {
    next = grains;
    cvy_output_block block = cvy_cpu_implicit_gemm_unit_at(&plan, i, &next);
    assert_in_range(next, i + 1, grains);
    transposed += extent_of(&block.p, plan.units.axis);
  }
  if (transposed <= MOST_TIMES * whole) return;
  fail_msg("%lld units transpose %lld places of %lld", (long long)units, (long long)transposed,
           (long long)whole);
}

static void wide_rows_and_far_taps(void **state) {
  (void)state;
  static const char *const texts[] = {
      "n1c144h8w400 k64r3s1 pad1,0 backward_weights",
      "n1c144h8w460 k64r3s1 pad1,0 backward_weights",
      "n1c144h8w3136 k64r3s1 pad1,0 backward_weights",
      "n1c144h16w460 k64r3s1 stride2,1 pad1,0 backward_weights",
      "n2c144z8h56w56 k64t3r1s1 pad1,0,0 backward_weights",
      "n2c16h129w500 k16r129s1 backward_weights",
      "n2c2h200w500 k16r129s2 backward_weights",
      "n1c64w20000 k64s3 pad5000 dil5000 backward_weights",
      "n1c144h8w1000 k64r3s3 pad1 backward_weights",
  };
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    cvy_problem problem = problem_of(texts[i]);
    for (int32_t threads = 1; threads <= 64; threads *= 2) check(&problem, threads);
  }
}

static void any_geometry(void **state) {
  (void)state;
  test_random random = {5};
  for (int round = 0; round < 20000; round++) {
    cvy_problem p = problem_of("n1c1z1h1w1 k1t1r1s1 backward_weights");
    p.conv.n = test_between(&random, 1, 4);
    p.conv.c = test_between(&random, 1, 300);
    p.conv.k = test_between(&random, 2, 300);
    for (int i = 0; i < 3; i++) {
      p.conv.filter[i] = test_between(&random, 1, 4) == 1 ? test_between(&random, 2, 20) : 1;
      p.conv.dilation[i] = p.conv.filter[i] > 1 ? test_between(&random, 1, 40) : 1;
      p.conv.stride[i] = test_between(&random, 1, 3);
      p.conv.out[i] = test_between(&random, 1, i == 2 ? 4000 : 40);
      p.conv.in[i] =
          (p.conv.out[i] - 1) * p.conv.stride[i] + (p.conv.filter[i] - 1) * p.conv.dilation[i] + 1;
    }
    check(&p, (int32_t)test_between(&random, 1, 16));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wide_rows_and_far_taps),
      cmocka_unit_test(any_geometry),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
