/* What --shapes, --shape and --pass name: the texts of problems, and which passes are run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/result.h"
#include "common/exit_status.h"
#include "common/shapes.h"

#define LONGEST                                                                          \
  "n99999999c2147483647z2h2w2 k2147483647t1r1s1 stride2147483647,2147483646,2147483647 " \
  "pad2147483647:2147483646,2147483646:2147483645,2147483647:2147483645 "                \
  "dil2147483647,2147483646,2147483647 groups2147483647 transposed "                     \
  "outpad2147483646,2147483645,2147483645"

static const words none;

static void fill_with(words *out, const char *text) {
  *out = (words){0};
  assert_true(words_add(out, text, strlen(text)));
}

static int open_text(const char *text, const words *pass_names, shapes *out) {
  words texts;
  fill_with(&texts, text);
  return shapes_open("test", &none, &texts, pass_names, out);
}

/* The name is what tables print, and what the results of two runs are found by. */
static void the_longest_problem_is_whole(void **state) {
  (void)state;
  shapes read;
  bench_result result = bench_result_new();
  assert_int_equal(open_text(LONGEST " backward_weights", &none, &read), EXIT_FINE);
  const layer *from = &read.tables[0].layers[0];
  assert_true(strlen(LONGEST " backward_weights") > 256);
  assert_string_equal(from->name, LONGEST);
  assert_true(sizeof result.shape >= sizeof from->name);
  const problem *about = &from->shape;
  assert_int_equal(convoy_format_problem(&about->conv, about->x_shape, about->w_shape,
                                         about->direction, result.problem, sizeof result.problem),
                   CONVOY_OK);
  assert_string_equal(result.problem, LONGEST " backward_weights");
  shapes_close(&read);
}

static void a_text_names_its_pass(void **state) {
  (void)state;
  shapes read;
  assert_int_equal(open_text("n2c3w11 k5s3 backward_bias", &none, &read), EXIT_FINE);
  const layer_table *table = &read.tables[0];
  passes each = shapes_passes(&read, table, &table->layers[0]);
  assert_int_equal(each.count, 1);
  assert_int_equal(each.item[0], CONVOY_BACKWARD_BIAS);
  assert_int_equal(shapes_problems(&read), 1);
  shapes_close(&read);
}

static void what_names_nothing_is_refused(void **state) {
  (void)state;
  shapes read;
  words forward, missing;
  fill_with(&forward, "forward");
  fill_with(&missing, "no-such-table");
  assert_int_equal(open_text("n2c3w11 k5s3 forward", &forward, &read), EXIT_USAGE);
  shapes_close(&read);
  assert_int_equal(open_text("n2c3w11 k5s3 sideways", &none, &read), EXIT_USAGE);
  shapes_close(&read);
  assert_int_equal(shapes_open("test", &missing, &none, &none, &read), EXIT_USAGE);
  shapes_close(&read);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_longest_problem_is_whole),
      cmocka_unit_test(a_text_names_its_pass),
      cmocka_unit_test(what_names_nothing_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
