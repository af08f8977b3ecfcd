/* What the soak makes of memory and descriptors that grow. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "soak/usage.h"

enum { WARM = 40, LEAK = 8 << 20 };

static soak_usage warmed_up(int warm) {
  soak_usage out = {.warm = warm};
  for (int step = 0; step <= warm; step++) soak_usage_note(&out, step);
  return out;
}

static void what_stays_is_no_growth(void **state) {
  (void)state;
  char why[192] = "";
  soak_usage uses = {.warm = WARM};
  for (int step = 0; step < 3 * WARM; step++) {
    int file = step == 5 ? open("/dev/null", O_RDONLY) : -1; /* for one step of the warm-up */
    soak_usage_note(&uses, step);
    if (file >= 0) close(file);
  }
  soak_usage_end(&uses);
  assert_false(soak_usage_grew(&uses, why, sizeof why));
  assert_int_equal(uses.descriptors_growth, -1);
}

static void growth_is_told_with_its_numbers(void **state) {
  (void)state;
  char why[192] = "";
  soak_usage uses = warmed_up(WARM), shorter = warmed_up(WARM - 1);
  int file = open("/dev/null", O_RDONLY);
  soak_usage_note(&uses, WARM + 1);
  soak_usage_end(&uses);
  assert_true(soak_usage_grew(&uses, why, sizeof why));
  assert_string_equal(why, "descriptors: 1 more were open at the end than by step 40");

  char *volatile leak = malloc(LEAK);
  assert_non_null(leak);
  memset(leak, 1, LEAK);
  soak_usage_end(&uses);
  assert_true(soak_usage_grew(&uses, why, sizeof why));
  assert_true(uses.rss_growth >= LEAK / 1024 - 1024);
  assert_non_null(strstr(why, "memory grew by "));
  assert_non_null(strstr(why, ", and descriptors: 1 more"));

  soak_usage_note(&shorter, WARM);
  soak_usage_end(&shorter);
  assert_false(soak_usage_grew(&shorter, why, sizeof why));
  free(leak);
  close(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_stays_is_no_growth),
      cmocka_unit_test(growth_is_told_with_its_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
