/* Paths without the user's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/places.h"

static void home_becomes_a_tilde(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"/home/ann/x", "~/x"},
      {"/home/ann", "~"},
      {"/opt:/home/ann/a:/home/ann/b", "/opt:~/a:~/b"},
      {"cannot open /home/ann: no", "cannot open ~: no"},
      {"/home/anna/x", "/home/anna/x"},
      {"", ""},
  };
  char out[64];
  static const char *const homes[] = {"/home/ann", "/home/ann/"};
  for (size_t h = 0; h < 2; h++) {
    setenv("HOME", homes[h], 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
      assert_string_equal(places_without_home(cases[i][0], out, sizeof out), cases[i][1]);
  }
  assert_string_equal(places_without_home("/home/ann/abc", out, 4), "~/a");
  setenv("HOME", "/", 1);
  assert_string_equal(places_without_home("/a/b", out, sizeof out), "/a/b");
  unsetenv("HOME");
  assert_string_equal(places_without_home("/a/b", out, sizeof out), "/a/b");
}

static void files_lie_where_the_library_has_them(void **state) {
  (void)state;
  char out[64];
  static const char *const names[] = {"CONVOY_STATE_DIR", "CONVOY_TUNE_FILE", "XDG_STATE_HOME",
                                      "XDG_CONFIG_HOME", "HOME"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unsetenv(names[i]);
  assert_false(places_state_folder(out, sizeof out));
  assert_false(places_tune_file(out, sizeof out));
  setenv("HOME", "/h", 1);
  assert_true(places_state_folder(out, sizeof out));
  assert_string_equal(out, "/h/.local/state/convoy");
  assert_true(places_tune_file(out, sizeof out));
  assert_string_equal(out, "/h/.config/convoy/tune.txt");
  setenv("XDG_CONFIG_HOME", "/c", 1);
  setenv("CONVOY_STATE_DIR", "/s", 1);
  assert_true(places_tune_file(out, sizeof out));
  assert_string_equal(out, "/c/convoy/tune.txt");
  assert_true(places_state_folder(out, sizeof out));
  assert_string_equal(out, "/s");
  assert_false(places_state_folder(out, 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(home_becomes_a_tilde),
      cmocka_unit_test(files_lie_where_the_library_has_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
