/* Sums over tables. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/sums.h"

static void add(bench_results *list, const char *device, const char *pass, const char *status,
                int64_t count, double ms) {
  bench_result line = bench_result_new();
  strcpy(line.table, "net");
  strcpy(line.requested, "auto");
  strcpy(line.device, device);
  strcpy(line.pass, pass);
  strcpy(line.status, status);
  line.count = count;
  line.median_ms = ms;
  line.transfers_ms = 2 * ms;
  line.flops = 100;
  assert_true(bench_results_add(list, &line));
}

static void lines_weigh_as_often_as_they_occur(void **state) {
  (void)state;
  bench_results lines = {0};
  add(&lines, "cpu", "forward", "ok", 3, 1.5);
  add(&lines, "ocl:0", "forward", "ok", 1, 8);
  add(&lines, "cpu", "forward", "ok", 1, 2);
  add(&lines, "cpu", "backward_data", "ok", 2, 4);
  add(&lines, "cpu", "backward_data", "refused", 2, NAN);
  bench_sum sums[5];
  assert_int_equal(bench_sums_of(&lines, sums), 2);
  assert_string_equal(sums[0].device, "cpu");
  assert_true(sums[0].pass[CONVOY_FORWARD].ms == 6.5);
  assert_true(sums[0].pass[CONVOY_FORWARD].transfers_ms == 13.0);
  assert_true(sums[0].pass[CONVOY_FORWARD].flops == 400.0);
  assert_int_equal(sums[0].pass[CONVOY_FORWARD].missing, 0);
  assert_true(sums[0].pass[CONVOY_BACKWARD_DATA].ms == 8.0);
  assert_int_equal(sums[0].pass[CONVOY_BACKWARD_DATA].missing, 1);
  assert_int_equal(sums[0].pass[CONVOY_BACKWARD_WEIGHTS].lines, 0);
  assert_true(sums[0].total.ms == 14.5);
  assert_int_equal(sums[0].total.missing, 1);
  assert_true(sums[1].total.ms == 8.0);
  bench_results_free(&lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_weigh_as_often_as_they_occur),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
