/* Every row of the device's algorithm table x every operation, on host memory and on tensors, x every
 * problem of the list, against the float64 reference. Integer data, where nothing but equality will
 * do; every REALS_EVERYth problem also with reals, within the bound the header promises. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "common/cmocka.h"
#include "common/device.h"
#include "tally.h"

#define LEAST_PROBLEMS 60
#define REALS_EVERY 4
#define MOST_FAILURES_SHOWN 40

static arguments wanted;
static convoy_context *context;
static convoy_device_info device;
static tally result;

static const struct {
  const char *name;
  call_fn *call;
} ways[] = {{"host", call_on_host}, {"tensors", call_on_tensors}};

static bool is_wanted(const char *filter, const char *name) {
  return filter == NULL || strcmp(filter, name) == 0;
}

static void report(const workload *work, const operation *op, int row, const char *way,
                   const char *what) {
  char text[CONVOY_PROBLEM_TEXT];
  if (tally_failures(&result) >= MOST_FAILURES_SHOWN) return;
  test_case_text(&work->problem, op->direction, text, sizeof text);
  fprintf(stderr,
          "FAIL %s %s on %s, %s data: %s | repro: test_algos --device %s --algorithm %s "
          "--operation %s --shape '%s' --seed %llu\n",
          result.row[row], op->name, way, work->kind == DATA_INTEGERS ? "integer" : "real", what,
          device.id, result.row[row], op->name, text, (unsigned long long)work->seed);
}

static void check_row(const workload *work, const operation *op, const ref_value *expected,
                      int row) {
  char what[512] = "";
  const subject s = {context, &device, result.row[row]};
  if (convoy_set_algorithm(context, s.algorithm) != CONVOY_OK)
    fail_msg("%s: %s", s.algorithm, convoy_last_error());
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    const outcome o = check_call(&s, work, op, ways[i].call, expected, what, sizeof what);
    if (o == FAILED) report(work, op, row, ways[i].name, what);
    tally_add(&result, row, &work->problem, op->direction, o);
  }
}

static void check_problem(const test_case *problem, data_kind kind) {
  workload work;
  workload_make(problem, kind, wanted.seed, &work);
  for (int i = 0; i < operation_count; i++) {
    const operation *op = &operations[i];
    if (!is_wanted(wanted.operation, op->name)) continue;
    ref_value *expected = workload_expected(&work, op);
    for (int row = 0; row < result.rows; row++) check_row(&work, op, expected, row);
    free(expected);
  }
  workload_free(&work);
}

static void every_row_every_operation_every_problem(void **state) {
  (void)state;
  test_case *problems = NULL;
  const int count = test_cases_read(wanted.shapes, &problems);
  assert_true(count > 0);
  if (strcmp(wanted.shapes, TEST_SHAPES) == 0) assert_in_range(count, LEAST_PROBLEMS, 100000);
  for (int i = 0; i < count; i++) {
    check_problem(&problems[i], DATA_INTEGERS);
    if (i % REALS_EVERY == 0) check_problem(&problems[i], DATA_REALS);
  }
  free(problems);
  printf("%d problems, seed %llu, %s (%s)\n", count, (unsigned long long)wanted.seed, device.id,
         device.name);
  assert_int_equal(tally_failures(&result), 0);
}

static void every_claimed_direction_ran(void **state) {
  (void)state;
  assert_int_equal(tally_print(&result), 0);
}

static void the_one_problem_asked_for(void **state) {
  (void)state;
  test_case problem;
  assert_true(test_case_parse(wanted.shape, &problem));
  check_problem(&problem, DATA_INTEGERS);
  check_problem(&problem, DATA_REALS);
  assert_int_equal(tally_failures(&result), 0);
}

/* The rows of the table, or the one asked for. */
static bool enumerate_rows(void) {
  const char *name;
  for (int32_t i = 0; (name = convoy_algorithm_name(context, i)) != NULL; i++) {
    if (!is_wanted(wanted.algorithm, name)) continue;
    if (result.rows == TALLY_ROWS) return false;
    result.row[result.rows++] = name;
  }
  return result.rows > 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest all[] = {cmocka_unit_test(every_row_every_operation_every_problem),
                                   cmocka_unit_test(every_claimed_direction_ran)};
  const struct CMUnitTest one[] = {cmocka_unit_test(the_one_problem_asked_for)};
  wanted.shapes = TEST_SHAPES;
  if (!arguments_read(argc, argv, &wanted)) return EXIT_FAILURE;
  const int opened = test_open(wanted.device, &context, &device);
  if (opened != 0) return opened;
  if (!enumerate_rows()) return EXIT_FAILURE;
  const int failed = wanted.shape != NULL ? cmocka_run_group_tests(one, NULL, NULL)
                                          : cmocka_run_group_tests(all, NULL, NULL);
  convoy_close(context);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
