/* What a marker means that somebody left behind: each line of the rule in docs/failover.md, and that of
 * trainer and worker killed together no trace remains that would count against the device. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "common/cmocka.h"
#include "core/box.h"
#include "core/faults/judge.h"
#include "core/open.h"
#include "core/where.h"

#define MACHINE "0123456789abcdef0123456789abcdef"
#define ELSEWHERE "fedcba9876543210fedcba9876543210"
#define CONTAINER "pid:[4026532500]"
#define OTHER_CONTAINER "pid:[4026532600]"
#define FIRST CVY_FIRST_PID_NAMESPACE

enum { MINUTE = 60, DAY = 24 * 60 * MINUTE, NOW = 1800000000, BEGAN = NOW - 10 * MINUTE };
enum { GONE = 999999999 }; /* no process has that number */

/* A marker of an earlier boot of this machine, refreshed two minutes before this boot began, unless it says
 * otherwise; 0 and NULL: as usual. */
typedef struct line {
  cvy_verdict verdict;
  const char *why, *machine, *boot, *space; /* of the marker */
  int64_t refreshed, told;
  const char *here_machine, *here_space;
  int64_t alive, others;
  bool orderly, lives;
} line;

static const char * or (const char *given, const char *usual) {
  return given ? given : usual;
}

static void write_date(int64_t date, char *text, size_t size) {
  const time_t time = (time_t)date;
  struct tm parts;
  if (date) strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&time, &parts));
}

static void check(const line *of) {
  cvy_marker marker = {.process = of->lives ? getpid() : GONE,
                       .born = cvy_process_born(getpid()),
                       .device = "Fake GPU One"};
  cvy_here here = {.boot = "boot-2", .began = BEGAN, .now = NOW};
  const int64_t refreshed = of->refreshed ? of->refreshed : BEGAN - 2 * MINUTE;
  const char *why;
  cvy_text_copy(marker.machine, sizeof(marker.machine), or (of->machine, MACHINE));
  cvy_text_copy(marker.boot, sizeof(marker.boot), or (of->boot, "boot-1"));
  cvy_text_copy(marker.space, sizeof(marker.space), or (of->space, FIRST));
  write_date(refreshed, marker.refreshed, sizeof(marker.refreshed));
  write_date(refreshed - DAY, marker.since, sizeof(marker.since));
  write_date(of->told, marker.told, sizeof(marker.told));
  cvy_text_copy(here.machine, sizeof(here.machine), or (of->here_machine, MACHINE));
  cvy_text_copy(here.space, sizeof(here.space), or (of->here_space, FIRST));
  box.past = (cvy_past_boot){.alive = of->alive, .orderly = of->orderly};
  const cvy_verdict verdict = cvy_judge(&marker, &here, of->others, &why);
  if (verdict != of->verdict || !strstr(why, of->why)) {
    fail_msg("expected %d (%s), judged %d (%s)", of->verdict, of->why, verdict, why);
  }
}

static void test_rule(void **state) {
  (void)state;
  static const line lines[] = {
      /* Of this boot, whatever else it says. */
      {CVY_MARKER_STAYS, "lives", .boot = "boot-2", .lives = true},
      {CVY_MARKER_STAYS, "lives", .boot = "boot-2", .lives = true, .refreshed = NOW - DAY},
      {CVY_MARKER_OVER, "has ended", .boot = "boot-2"},
      {CVY_MARKER_OVER, "has ended", .boot = "boot-2", .machine = "", .here_machine = ""},
      {CVY_MARKER_STAYS, "may live", .boot = "boot-2", .space = CONTAINER,
       .refreshed = NOW - 5 * MINUTE},
      {CVY_MARKER_OVER, "has ended", .boot = "boot-2", .space = CONTAINER,
       .refreshed = NOW - 11 * MINUTE},
      {CVY_MARKER_STAYS, "may live", .boot = "boot-2", .space = CONTAINER,
       .here_space = OTHER_CONTAINER, .refreshed = NOW - 5 * MINUTE},
      /* Not this machine's to judge. */
      {CVY_MARKER_STAYS, "of another machine", .machine = ELSEWHERE},
      {CVY_MARKER_STAYS, "of another machine", .machine = ELSEWHERE, .refreshed = NOW - 90 * DAY},
      {CVY_MARKER_STAYS, "of another machine", .here_machine = ""},
      {CVY_MARKER_STAYS, "names no machine", .machine = ""},
      {CVY_MARKER_STAYS, "names no machine", .machine = "", .here_machine = ""},
      {CVY_MARKER_STAYS, "names no machine", .machine = "", .refreshed = NOW - 29 * DAY},
      {CVY_MARKER_OVER, "more than 30 days", .machine = "", .refreshed = NOW - 31 * DAY},
      {CVY_MARKER_STAYS, "this boot began", .refreshed = BEGAN},
      {CVY_MARKER_STAYS, "this boot began", .refreshed = NOW + DAY},
      /* The end of a container looks like that of the machine. */
      {CVY_MARKER_OVER, "its container", .space = CONTAINER},
      {CVY_MARKER_OVER, "its container", .space = CONTAINER, .here_space = OTHER_CONTAINER},
      {CVY_MARKER_STAYS, "in a container", .here_space = CONTAINER},
      /* A job that was killed before the machine went down. */
      {CVY_MARKER_OVER, "told to end", .told = BEGAN - 3 * MINUTE},
      {CVY_MARKER_OVER, "told to end", .told = BEGAN - 1 * MINUTE},
      {CVY_MARKER_OVER, "shut down in order", .orderly = true},
      {CVY_MARKER_OVER, "went on", .refreshed = BEGAN - DAY, .alive = BEGAN - DAY + 11 * MINUTE},
      {CVY_MARKER_OVER, "went on", .refreshed = BEGAN - DAY, .others = BEGAN - DAY + 11 * MINUTE},
      /* A machine that went down, also one that nobody started again before the morning. */
      {.verdict = CVY_MARKER_CRASH, .why = "nothing shows"},
      {CVY_MARKER_CRASH, "nothing shows", .space = "",
       .here_space = ""}, /* a kernel without them */
      {CVY_MARKER_CRASH, "nothing shows", .refreshed = BEGAN - DAY},
      {CVY_MARKER_CRASH, "nothing shows", .refreshed = BEGAN - DAY,
       .alive = BEGAN - DAY + 9 * MINUTE, .others = BEGAN - DAY + 9 * MINUTE},
      {CVY_MARKER_CRASH, "nothing shows",
       .told = BEGAN - 13 * MINUTE},                      /* and went on all the same */
      {CVY_MARKER_CRASH, "nothing shows", .lives = true}, /* a number is used again */
  };
  for (size_t i = 0; i < CVY_COUNT(lines); i++) check(&lines[i]);
}

/* Without a date nothing can be said about it. */
static void test_no_date(void **state) {
  (void)state;
  cvy_marker marker = {.machine = MACHINE, .boot = "boot-1", .space = FIRST, .process = GONE};
  const cvy_here here = {MACHINE, "boot-2", FIRST, BEGAN, NOW};
  static const char *const dates[] = {"", "yesterday", "2026-11-23", "2026-11-23T10:00:00"};
  for (size_t i = 0; i < CVY_COUNT(dates); i++) {
    const char *why;
    strcpy(marker.refreshed, dates[i]);
    assert_int_equal(cvy_judge(&marker, &here, 0, &why), CVY_MARKER_STAYS);
  }
}

/* ------------------------------------------------------------------------------ the whole way */

typedef struct reboot {
  const char *what;
  cvy_past_boot past;
  bool contained, no_machine;
  int left; /* markers that remain */
} reboot;

/* Trainer and worker are killed together, and the machine is started again; so three times. */
static void check_harmless(const reboot *of) {
  box_fresh(NULL);
  for (int i = 1; i <= 3; i++) {
    box.contained = of->contained;
    where.machine = of->no_machine ? "" : "m1";
    box.past = of->past;
    box_die_in_use(i == 2);
    box.boot = i + 1;
    box_check_opens("fake:1");
    if (box_files("downs") != 0 || box_files("running") != of->left * i || box.logged[0])
      fail_msg("%s: %d downs, %d markers, %s", of->what, box_files("downs"), box_files("running"),
               box.logged);
  }
}

static void test_killed_jobs_mean_nothing(void **state) {
  (void)state;
  static const reboot reboots[] = {
      {"an orderly shutdown", {.orderly = true}, false, false, 0},
      {"a machine that went on", {.alive = INT64_MAX}, false, false, 0},
      {"a container", {0}, true, false, 0},
      {"a container without a machine id", {0}, true, true, 1},
      {"a machine without an id", {0}, false, true, 1},
  };
  for (size_t i = 0; i < CVY_COUNT(reboots); i++) check_harmless(&reboots[i]);
}

/* What the worker noted is kept when the trainer writes its marker anew. */
static void test_note_of_the_end_stays(void **state) {
  (void)state;
  char path[300], told[60], date[24];
  convoy_context *context = open_named("fake", CONVOY_NO);
  cvy_calendar(date, sizeof(date));
  snprintf(told, sizeof(told), CVY_MARK_TOLD ": %s\n", date);
  box_path("running", path, sizeof(path));
  assert_int_equal(cvy_file_append(path, told), CONVOY_OK);
  assert_int_equal(cvy_file_append(path, told), CONVOY_OK); /* told twice */
  assert_string_equal(box_marker().told, date);
  box_enqueue(context); /* a first use: the marker is written */
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  assert_string_equal(box_marker().told, date);
  assert_string_equal(box_marker().algorithm, "");
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_rule, where_fresh),
      cmocka_unit_test_setup(test_no_date, where_fresh),
      cmocka_unit_test_setup(test_killed_jobs_mean_nothing, where_fresh),
      cmocka_unit_test_setup(test_note_of_the_end_stays, where_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
