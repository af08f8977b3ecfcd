/* What the system has written down about an earlier boot: records of logins made up here, and files that
 * change as the test runs. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

#include "os/os.h"
#include "worker/lane.h"

enum { SINCE = 1000000, SEEN = 1010000, BEGAN = 1100000, SLACK = 300, MOST = 3000 };

typedef enum kind { START, SHUTDOWN, LOGIN, LEVEL } kind;

typedef struct entry {
  kind kind;
  int time;
} entry;

static struct utmp record_of(const entry *of) {
  static const struct {
    short type;
    const char *user;
  } kinds[] = {[START] = {BOOT_TIME, "reboot"},
               [SHUTDOWN] = {RUN_LVL, "shutdown"},
               [LOGIN] = {USER_PROCESS, "ann"},
               [LEVEL] = {RUN_LVL, "runlevel"}};
  struct utmp record = {.ut_type = kinds[of->kind].type};
  strcpy(record.ut_user, kinds[of->kind].user);
  record.ut_tv.tv_sec = of->time;
  return record;
}

typedef struct story {
  const char *what;
  entry entries[8]; /* until one without a time */
  bool orderly;
  int until, alive;
} story;

static const story stories[] = {
    {"no records", {{0}}, false, BEGAN, SEEN},
    {"a freeze", {{START, SINCE - 50}, {LOGIN, SINCE}, {START, BEGAN - 2}}, false, BEGAN - 2, SEEN},
    {"a shutdown",
     {{START, SINCE - 50}, {LOGIN, SINCE}, {SHUTDOWN, SEEN + 9}, {START, BEGAN - 2}},
     true,
     BEGAN,
     SEEN},
    {"the shutdown of a boot between",
     {{START, SINCE - 50},
      {START, SEEN + 60},
      {LOGIN, SEEN + 70},
      {SHUTDOWN, SEEN + 80},
      {START, BEGAN - 2}},
     false,
     SEEN + 60,
     SEEN},
    {"a shutdown before",
     {{START, SINCE - 500}, {SHUTDOWN, SINCE - 100}, {START, SINCE - 50}, {START, BEGAN - 2}},
     false,
     BEGAN - 2,
     SEEN},
    {"logins after it was seen last",
     {{START, SINCE - 50},
      {LOGIN, SEEN - 1},
      {LOGIN, SEEN + 5000},
      {LEVEL, SEEN + 2000},
      {START, BEGAN - 2}},
     false,
     BEGAN - 2,
     SEEN + 5000},
    {"what may have been written by this boot with a clock that was slow",
     {{START, SINCE - 50}, {LOGIN, BEGAN - SLACK + 1}},
     false,
     BEGAN,
     SEEN},
    {"records that were begun anew meanwhile",
     {{SHUTDOWN, SEEN + 9}, {START, BEGAN}},
     true,
     BEGAN,
     SEEN},
    {"a clock set back", {{START, SINCE - 50}, {SHUTDOWN, SEEN - 5000}}, false, BEGAN, SEEN},
};

static int records_of(const story *of, struct utmp *records) {
  int count = 0;
  while (count < 8 && of->entries[count].time) {
    records[count] = record_of(&of->entries[count]);
    count++;
  }
  return count;
}

static cvy_past_boot boot_of(void) {
  return (cvy_past_boot){.since = SINCE, .seen = SEEN, .until = BEGAN, .alive = SEEN};
}

static void test_logins(void **state) {
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(stories); i++) {
    struct utmp records[8];
    cvy_past_boot boot = boot_of();
    const int count = records_of(&stories[i], records);
    cvy_boot_read_logins(records, (size_t)count * sizeof records[0] + 7, &boot);
    if (boot.orderly != stories[i].orderly || boot.until != stories[i].until ||
        boot.alive != stories[i].alive)
      fail_msg("%s: orderly %d, until %lld, alive %lld", stories[i].what, boot.orderly,
               (long long)boot.until, (long long)boot.alive);
  }
}

/* -------------------------------------------------------------------------------- the files */

static char root[64];

static int make_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/convoy-lookback-XXXXXX");
  return mkdtemp(root) == NULL;
}

static int remove_root(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command);
}

static void write_file(const char *file, const void *bytes, size_t count) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", root, file);
  assert_int_equal(cvy_file_write(path, bytes, count), CONVOY_OK);
}

/* Only the end of a long file is read, and it need not end with a whole record. */
static void test_long_record_of_logins(void **state) {
  static struct utmp records[MOST];
  (void)state;
  for (int i = 0; i < MOST; i++) records[i] = record_of(&(entry){LOGIN, SINCE - MOST + i});
  records[0] = record_of(&(entry){SHUTDOWN, SEEN + 5}); /* too far back to be looked at */
  records[MOST - 2] = record_of(&(entry){START, SINCE - 2});
  records[MOST - 1] = record_of(&(entry){SHUTDOWN, SEEN + 9});
  write_file("var/log/wtmp", records, sizeof records);
  cvy_past_boot boot = boot_of();
  cvy_boot_look_back(root, &boot);
  assert_true(boot.orderly);
  write_file("var/log/wtmp", records, sizeof records - sizeof records[0] / 2);
  boot = boot_of();
  cvy_boot_look_back(root, &boot);
  assert_false(boot.orderly);
  write_file("var/log/wtmp", "", 0);
}

static void check_alive(bool expected) {
  const int64_t now = cvy_date();
  cvy_past_boot boot = {.since = now - 9000, .seen = now - 5000, .until = now + 1000};
  cvy_boot_look_back(root, &boot);
  assert_in_range(boot.alive, expected ? now - 100 : now - 5000, expected ? now + 100 : now - 5000);
  boot.until = now + SLACK / 2; /* perhaps this boot wrote it */
  cvy_boot_look_back(root, &boot);
  assert_int_equal(boot.alive, now - 5000);
}

/* A file of the system that changed shows that it was alive then; whatever the file itself says. */
static void test_files(void **state) {
  static const char *const files[] = {"var/log/syslog", "var/lib/systemd/timers/stamp-x.timer",
                                      "var/lib/systemd/timesync/clock",
                                      "var/log/journal/0123/system.journal"};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(files); i++) {
    remove_root(state);
    check_alive(false);
    write_file(files[i], "", 0);
    check_alive(true);
  }
  remove_root(state);
  write_file("home/ann/notes", "", 0);
  check_alive(false);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_logins),
      cmocka_unit_test(test_long_record_of_logins),
      cmocka_unit_test(test_files),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
