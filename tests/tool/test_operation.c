/* Programs as the tool makes them, and the reference that judges them: it agrees with the CPU
 * engine, and sees errors that are not much larger than rounding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/operation.h"
#include "selftest/programs.h"

enum { EVALUATED = 20000 };
static convoy_context *cpu;

static int open_cpu(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "cpu";
  return convoy_open(&options, &cpu) == CONVOY_OK ? 0 : -1;
}

static int close_cpu(void **state) {
  (void)state;
  convoy_close(cpu);
  return 0;
}

static void make(const char *text, float offset, bool gradient, operation *out) {
  convoy_status status = gradient ? operation_read_gradient(text, out) : operation_read(text, out);
  if (status != CONVOY_OK) fail_msg("%s: %s", text, convoy_last_error());
  assert_true(operation_fill(out, fill_real, offset));
  if (operation_expect(out, cpu) != CONVOY_OK) fail_msg("%s: %s", text, convoy_last_error());
}

/* Off by a thousandth, or another number where it was none. */
static bool error_is_seen(operation *what) {
  verdict result;
  float *first = what->host[what->inputs], before = *first;
  *first = isfinite(before) ? before + 1e-3f * (1.0f + fabsf(before)) : 1.0f;
  if (what->program) /* the reference alone judges products */
    assert_false(verdict_good(&(verdict){.wrong = operation_compare_exactly(what).wrong}));
  assert_true(operation_compare_reference(what, EVALUATED, &result));
  *first = before;
  return result.wrong > 0;
}

static void check(operation *what, int *seen, int *read) {
  verdict result = operation_compare_exactly(what);
  assert_int_equal(result.wrong, 0);
  if (what->count[what->inputs] == 0) return;
  if (!operation_compare_reference(what, EVALUATED, &result)) {
    assert_non_null(strstr(what->body, "random")); /* all else it reads */
    return;
  }
  if (result.wrong)
    fail_msg("%s: [%lld] = %.9g, not %.9g", what->text, (long long)result.index, result.got,
             result.expected);
  ++*read;
  *seen += error_is_seen(what);
}

/* All that the self-test runs. Where a result hangs on a division by nearly nothing an error of a
 * thousandth may be rounding. */
static void the_reference_sees_errors(void **state) {
  (void)state;
  program_sample from;
  int seen = 0, read = 0;
  for (int i = 0; program_sample_at(i, &from); i++) {
    operation what;
    make(from.text, from.offset, false, &what);
    check(&what, &seen, &read);
    operation_free(&what);
  }
  print_message("errors of a thousandth are seen in %d of %d\n", seen, read);
  assert_true(read > 150 && seen >= read - read / 20);
}

static void gradients_have_the_operands_of_their_programs(void **state) {
  (void)state;
  operation what;
  int seen = 0, read = 0;
  make("y = x * sigmoid(x) * s on n2c3h5w7 s:channel", 0.0f, true, &what);
  assert_int_equal(what.inputs + what.results, 5);
  check(&what, &seen, &read);
  operation_free(&what);
  make("s = sum over n h w of x * x on n2c3h5w7", 0.0f, true, &what);
  assert_int_equal(what.count[0], 210);
  assert_int_equal(what.count[1], 3); /* d_s */
  assert_int_equal(what.count[2], 210);
  check(&what, &seen, &read);
  assert_int_equal(seen, 2);
  operation_free(&what);
}

static void one_ulp_is_not_the_same_bits(void **state) {
  (void)state;
  operation what;
  make("silu on n2c3w5", 0.0f, false, &what);
  float *result = what.host[1];
  result[29] = nextafterf(result[29], INFINITY);
  verdict found = operation_compare_exactly(&what);
  assert_int_equal(found.wrong, 1);
  assert_int_equal(found.index, 29);
  result[29] = NAN;
  assert_int_equal(operation_compare_exactly(&what).wrong, 1);
  operation_free(&what);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_sees_errors),
      cmocka_unit_test(gradients_have_the_operands_of_their_programs),
      cmocka_unit_test(one_ulp_is_not_the_same_bits),
  };
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
