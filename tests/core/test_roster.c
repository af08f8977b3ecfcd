/* The devices that machines have had: what is remembered, for how long, and what is not believed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/box.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/roster_file.h"
#include "core/where.h"
#include "os/os.h"

static char *file_name(void) {
  static char path[100];
  snprintf(path, sizeof path, "%s/devices.txt", box.folder);
  return path;
}

static char *read_file(void) {
  size_t count;
  char *text;
  assert_int_equal(cvy_file_read(file_name(), CVY_FILE_TEXT, 1 << 20, &text, &count), CONVOY_OK);
  return text;
}

static void write_file(const char *text) {
  assert_int_equal(cvy_file_write(file_name(), text, strlen(text)), CONVOY_OK);
}

static void check_file(const char *wanted) {
  char *text = read_file();
  assert_string_equal(text, wanted);
  free(text);
}

static void list(void) {
  int32_t count;
  assert_int_equal(convoy_devices(NULL, NULL, 0, &count, NULL, 0), CONVOY_OK);
}

static bool recalls(const char *wanted) {
  cvy_known known;
  return cvy_roster_recall(wanted, &known);
}

#define HEAD "convoy-devices 1\n"

/* ------------------------------------------------------------------------- what is written */

static void test_what_is_seen_is_written(void **state) {
  (void)state;
  list();
  check_file(HEAD
             "m1 | fake:0 | Fake/Processor | - | 1.0 | 2026-11-23 | 2026-11-23\n"
             "m1 | fake:1 | Fake GPU One | - | 1.0 | 2026-11-23 | 2026-11-23\n");
  /* Another day, one device less; another driver. */
  where.date = "2026-11-25T00:00:00Z";
  fake.gone = 1;
  fake.driver = "2.0";
  convoy_close(open_named("fake:0", CONVOY_NO));
  check_file(HEAD
             "m1 | fake:0 | Fake/Processor | - | 2.0 | 2026-11-23 | 2026-11-25\n"
             "m1 | fake:1 | Fake GPU One | - | 1.0 | 2026-11-23 | 2026-11-23\n");
  /* The same on another machine of the same home, that says no id. */
  where.machine = "";
  list();
  check_file(HEAD
             "m1 | fake:0 | Fake/Processor | - | 2.0 | 2026-11-23 | 2026-11-25\n"
             "m1 | fake:1 | Fake GPU One | - | 1.0 | 2026-11-23 | 2026-11-23\n"
             "- | fake:0 | Fake/Processor | - | 2.0 | 2026-11-25 | 2026-11-25\n");
}

static ino_t file_number(void) {
  struct stat about;
  assert_int_equal(stat(file_name(), &about), 0);
  return about.st_ino;
}

/* A file that is replaced is another one. */
static void test_nothing_new_is_not_written(void **state) {
  (void)state;
  list();
  const ino_t first = file_number();
  list();
  convoy_close(open_named("fake:1", CONVOY_NO));
  convoy_close(open_named("auto", CONVOY_NO));
  assert_true(file_number() == first);
  where.date = "2026-11-24T00:00:00Z";
  list();
  assert_true(file_number() != first);
}

/* With cpu, and of the CPU engine, nothing is read or written. */
static void test_the_cpu_is_not_remembered(void **state) {
  (void)state;
  convoy_close(open_named("cpu", CONVOY_NO));
  assert_int_not_equal(access(file_name(), F_OK), 0);
  list();
  assert_false(recalls("cpu"));
}

static void test_names(void **state) {
  (void)state;
  list();
  fake.gone = 1;
  assert_true(recalls("fake:1") && recalls("FAKE:1") && recalls("gpu one") && recalls("GPU"));
  assert_true(recalls("Fake|Processor"));
  assert_false(recalls("fake:2") || recalls("5600") || recalls("2026") || recalls("m1"));
  where.machine = "m2";
  assert_false(recalls("fake:1") || recalls("GPU"));
  where.machine = "";
  assert_false(recalls("fake:1"));
}

/* Of several that bore the name it is the one seen last, wherever it stands in the file. */
static void test_the_last_that_bore_it(void **state) {
  (void)state;
  cvy_known known;
  write_file(HEAD
             "m1 | ocl:0 | Card A | P | 1 | 2026-01-01 | 2026-10-01\n"
             "m1 | ocl:1 | Card B | P | 1 | 2026-01-01 | 2026-11-01\n"
             "m2 | ocl:2 | Card C | P | 1 | 2026-01-01 | 2026-11-20\n"
             "m1 | ocl:0 | Card D | P | 1 | 2026-01-01 | 2026-10-15\n");
  assert_true(cvy_roster_recall("card", &known));
  assert_string_equal(known.name, "Card B");
  assert_true(cvy_roster_recall("OCL:0", &known));
  assert_string_equal(known.name, "Card D");
}

static void check_gone(const char *id, const char *name, const cvy_facts *there, int32_t count,
                       bool gone) {
  cvy_known known = {.machine = "m1"};
  cvy_text_copy(known.id, sizeof known.id, id);
  cvy_text_copy(known.name, sizeof known.name, name);
  assert_int_equal(cvy_known_gone(&known, "m1", there, count), gone);
  assert_false(cvy_known_gone(&known, "m2", there, count));
}

/* A device that only got another number is not gone; one of two twins is. */
static void test_what_is_gone(void **state) {
  (void)state;
  const cvy_facts there[] = {{.info = {.id = "ocl:0", .name = "GPU"}},
                             {.info = {.id = "ocl:1", .name = "PoCL"}}};
  check_gone("ocl:0", "GPU", there, 2, false);
  check_gone("ocl:0", "PoCL", there, 2, false); /* before there was the GPU */
  check_gone("ocl:1", "GPU", there, 1, true);
  check_gone("ocl:1", "PoCL", there, 1, true);
  check_gone("ocl:0", "Another GPU", there, 2, true);
  check_gone("ocl:0", "GPU", there, 0, true);
}

/* ------------------------------------------------------------------------------ its bounds */

static void see(cvy_roster *roster, int number, const char *day) {
  convoy_device_info info = {.id = "ocl:0"};
  snprintf(info.name, sizeof info.name, "card %d.", number);
  assert_true(cvy_roster_see(roster, "m1", &info, day));
}

/* The one that was last seen longest ago makes room. */
static void test_full(void **state) {
  (void)state;
  cvy_roster *roster = calloc(1, sizeof *roster);
  assert_non_null(roster);
  for (int i = 0; i < CVY_ROSTER; i++) see(roster, i, i == 77 ? "2026-01-01" : "2026-11-23");
  assert_non_null(cvy_roster_find(roster, "m1", "card 77."));
  see(roster, 1000, "2026-11-23");
  assert_int_equal(roster->count, CVY_ROSTER);
  assert_null(cvy_roster_find(roster, "m1", "card 77."));
  assert_non_null(cvy_roster_find(roster, "m1", "card 1000."));
  assert_non_null(cvy_roster_find(roster, "m1", "card 0."));
  free(roster);
}

/* Texts of any length go through the file as they are remembered. */
static void test_longest(void **state) {
  (void)state;
  cvy_roster *roster = calloc(1, sizeof *roster);
  char *text = malloc(CVY_ROSTER_TEXT), *again = malloc(CVY_ROSTER_TEXT), big[200];
  assert_true(roster && text && again);
  memset(big, '|', sizeof big);
  big[sizeof big - 1] = '\0';
  for (int i = 0; i < CVY_ROSTER; i++) {
    convoy_device_info info = {0};
    cvy_text_copy(info.id, sizeof info.id, big);
    cvy_text_copy(info.name, sizeof info.name, big);
    cvy_text_copy(info.platform, sizeof info.platform, big);
    cvy_text_copy(info.driver, sizeof info.driver, big);
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    memcpy(info.name, number, strlen(number)); /* as long as before */
    assert_true(cvy_roster_see(roster, big, &info, big));
    assert_false(cvy_roster_see(roster, big, &info, big));
  }
  cvy_roster_format(roster, text, CVY_ROSTER_TEXT);
  assert_true(strlen(text) < CVY_ROSTER_TEXT - 1);
  cvy_roster_parse(text, roster);
  assert_int_equal(roster->count, CVY_ROSTER);
  assert_int_equal(roster->skipped, 0);
  cvy_roster_format(roster, again, CVY_ROSTER_TEXT);
  assert_string_equal(again, text);
  free(again);
  free(text);
  free(roster);
}

/* ------------------------------------------------------------------- what is not believed */

static const char good[] = "m1 | ocl:7 | A Card | P | 1 | 2026-11-01 | 2026-11-02\n";

/* Each is passed over; the line after it counts, but for what is no such file at all. */
static void test_rubbish(void **state) {
  (void)state;
  static const char *const lines[] = {
      "m1 | ocl:1 | Bad | P | 1 | 2026-11-01\n",                             /* a field less */
      "m1 | ocl:1 | Bad | P | 1 | 2026-11-01 | 2026-11-02 | more\n",         /* one more */
      "m1 | ocl:1 | Bad\033[2J | P | 1 | 2026-11-01 | 2026-11-02\n",         /* not as written */
      "m1 | ocl:1234567890123456 | Bad | P | 1 | 2026-11-01 | 2026-11-02\n", /* too long */
      "m1 |  | Bad | P | 1 | 2026-11-01 | 2026-11-02\n",                     /* an empty one */
      " | | | | | |\n",
      "Bad\n",
  };
  char text[8000];
  for (size_t i = 0; i < CVY_COUNT(lines); i++) {
    snprintf(text, sizeof text, HEAD "%s%s", lines[i], good);
    write_file(text);
    assert_true(recalls("A Card"));
    assert_false(recalls("Bad"));
  }
  memset(text, 'B', sizeof text);
  memcpy(text, HEAD, sizeof HEAD - 1);
  snprintf(text + 6000, sizeof text - 6000, "\n%s", good);
  write_file(text);
  assert_true(recalls("A Card") && recalls("OCL:7"));
  static const char *const whole[] = {"", "\n", "convoy-devices 2\n", "convoy-devices", "\377\377"};
  for (size_t i = 0; i < CVY_COUNT(whole); i++) {
    snprintf(text, sizeof text, "%s%s", whole[i], good);
    write_file(text);
    assert_false(recalls("A Card"));
  }
}

/* With one line of log the next listing puts the file right. */
static void test_rubbish_is_put_right(void **state) {
  (void)state;
  char text[1000];
  snprintf(text, sizeof text, HEAD "rubbish\n%s", good);
  write_file(text);
  list();
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged, "devices.txt: 1 devices, 1 lines are none and left out"));
  list();
  assert_int_equal(box_lines_logged(), 1);
  assert_true(recalls("A Card") && recalls("GPU One"));
}

/* Many more lines than are kept. */
static void test_too_many_lines(void **state) {
  (void)state;
  const int lines = 3 * CVY_ROSTER;
  char *text = malloc((size_t)lines * sizeof good + sizeof HEAD);
  assert_non_null(text);
  char *at = text + sprintf(text, HEAD);
  for (int i = 0; i < lines; i++) at += sprintf(at, "%s", good);
  write_file(text);
  free(text);
  list();
  assert_true(recalls("A Card") && recalls("GPU One"));
}

/* ---------------------------------------------------------------------- where it cannot be */

static void test_nothing_can_be_written(void **state) {
  (void)state;
  box.disk_full = true;
  list();
  list();
  assert_int_equal(box_lines_logged(), 1); /* in this process */
  assert_non_null(strstr(box.logged, "the devices of this machine are not remembered"));
  assert_non_null(strstr(box.logged, "the disk is full"));
  assert_false(recalls("GPU One"));
}

static void test_no_folder(void **state) {
  (void)state;
  const char *const home = getenv("HOME");
  unsetenv("CONVOY_STATE_DIR");
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  list();
  assert_false(recalls("GPU One"));
  setenv("CONVOY_STATE_DIR", box.folder, 1);
  if (home) setenv("HOME", home, 1);
}

/* What stands in the file's place is not a file. */
static void test_a_folder_in_its_place(void **state) {
  (void)state;
  assert_int_equal(mkdir(file_name(), 0700), 0);
  list();
  assert_false(recalls("GPU One"));
}

/* Processes that see devices at the same time lose none of each other's. */
static void test_many_at_once(void **state) {
  enum { PROCESSES = 8, EACH = 5 };
  (void)state;
  for (int p = 0; p < PROCESSES; p++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child != 0) continue;
    for (int i = 0; i < EACH; i++) {
      char name[40];
      snprintf(name, sizeof name, "card %d of %d", i, p);
      fake.name = name;
      list();
    }
    _exit(0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    assert_true(wait(&status) > 0 && status == 0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    for (int i = 0; i < EACH; i++) {
      char name[40];
      snprintf(name, sizeof name, "card %d of %d", i, p);
      if (!recalls(name)) fail_msg("%s is forgotten", name);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_what_is_seen_is_written, where_fresh),
      cmocka_unit_test_setup(test_nothing_new_is_not_written, where_fresh),
      cmocka_unit_test_setup(test_the_cpu_is_not_remembered, where_fresh),
      cmocka_unit_test_setup(test_names, where_fresh),
      cmocka_unit_test_setup(test_the_last_that_bore_it, where_fresh),
      cmocka_unit_test_setup(test_what_is_gone, where_fresh),
      cmocka_unit_test_setup(test_full, where_fresh),
      cmocka_unit_test_setup(test_longest, where_fresh),
      cmocka_unit_test_setup(test_rubbish, where_fresh),
      cmocka_unit_test_setup(test_rubbish_is_put_right, where_fresh),
      cmocka_unit_test_setup(test_too_many_lines, where_fresh),
      cmocka_unit_test_setup(test_many_at_once, where_fresh),
      cmocka_unit_test_setup(test_nothing_can_be_written, where_fresh),
      cmocka_unit_test_setup(test_no_folder, where_fresh),
      cmocka_unit_test_setup(test_a_folder_in_its_place, where_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
