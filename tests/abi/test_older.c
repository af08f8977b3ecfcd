/* A program that was compiled against an older header passes smaller structs: it gets what it knows, and
 * what lies behind its struct is neither read nor written. */
#include <stddef.h>
#include <string.h>

#include "common/cmocka.h"
#include "convoy/convoy.h"

/* The structs that have grown, up to where they ended in the first header. */
enum { FIRST_OPTIONS = 48, FIRST_HEALTH = 104, CANARY = 0x5a };

static convoy_context *open_with(const convoy_options *options) {
  convoy_context *context = NULL;
  assert_int_equal(convoy_open(options, &context), CONVOY_OK);
  return context;
}

static void options_of_the_first_header(void **state) {
  (void)state;
  convoy_options options;
  memset(&options, CANARY, sizeof options); /* no legal value of any field */
  memset(&options, 0, FIRST_OPTIONS);
  options.struct_size = FIRST_OPTIONS;
  options.device = "cpu";
  convoy_close(open_with(&options));
  options.struct_size = FIRST_OPTIONS - 1;
  convoy_context *context = NULL;
  assert_int_equal(convoy_open(&options, &context), CONVOY_ERR_ARGUMENT);
}

static void health_of_the_first_header(void **state) {
  (void)state;
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "cpu";
  convoy_context *context = open_with(&options);
  convoy_health health;
  unsigned char *bytes = (unsigned char *)&health;
  memset(&health, CANARY, sizeof health);
  health.struct_size = FIRST_HEALTH;
  assert_int_equal(convoy_get_health(context, &health), CONVOY_OK);
  assert_int_equal(health.struct_size, FIRST_HEALTH);
  assert_int_equal(health.operations, 0);
  for (size_t i = FIRST_HEALTH; i < sizeof health; i++) assert_int_equal(bytes[i], CANARY);
  convoy_close(context);
}

/* Of a later header only what this library knows is read. */
static void options_of_a_later_header(void **state) {
  (void)state;
  struct {
    convoy_options known;
    char later[64];
  } options = {CONVOY_OPTIONS_INIT, {0}};
  memset(options.later, CANARY, sizeof options.later);
  options.known.struct_size = sizeof options;
  options.known.device = "cpu";
  convoy_close(open_with(&options.known));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_of_the_first_header),
      cmocka_unit_test(health_of_the_first_header),
      cmocka_unit_test(options_of_a_later_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
