/* What others have put into the places of Convoy's own files: nothing waits for it, nothing of it is kept
 * in memory, and one line of log names it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/box.h"
#include "core/fake.h"
#include "core/open.h"
#include "core/tune/tunedisk.h"
#include "os/os.h"

static const char *path_in(const char *file) {
  static char path[300];
  snprintf(path, sizeof(path), "%s/%s", box.folder, file);
  return path;
}

static void leave(const char *file) {
  assert_int_equal(cvy_file_write(path_in(file), "mine", 4), CONVOY_OK);
}

static void check_left(const char *file) {
  assert_int_equal(access(path_in(file), F_OK), 0);
}

static convoy_context *open_tuned(void) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "fake";
  options.failover = CONVOY_NO;
  assert_int_equal(convoy_open(&options, &context), CONVOY_OK);
  return context;
}

static void make_fifo(const char *path) {
  assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_device(const char *path) {
  assert_int_equal(symlink("/dev/zero", path), 0);
}

static void make_folder(const char *path) {
  assert_int_equal(mkdir(path, 0700), 0);
}

/* It takes no room on the disk. */
static void make_giant(const char *path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_true(file >= 0);
  assert_int_equal(ftruncate(file, (off_t)1 << 40), 0);
  close(file);
}

static const struct {
  void (*make)(const char *path);
  const char *said;
} things[] = {
    {make_fifo, "is a FIFO, not a regular file"},
    {make_device, "is a symbolic link, not a regular file"},
    {make_folder, "is a folder, not a regular file"},
    {make_giant, "has 1099511627776 bytes, more than the"},
};

/* Opens and closes the device, with the file in place, which stays there. */
static void check_place(const char *file, bool is_read_by_open) {
  for (size_t i = 0; i < CVY_COUNT(things); i++) {
    char path[300], said[400];
    box_fresh(NULL);
    cvy_text_copy(path, sizeof(path), path_in(file));
    cvy_file_parents(path);
    things[i].make(path);
    alarm(60); /* reading the FIFO would never end */
    convoy_close(open_tuned());
    alarm(0);
    snprintf(said, sizeof(said), "%s %s", path, things[i].said);
    assert_int_equal(box_lines_logged(), is_read_by_open);
    if (is_read_by_open) assert_non_null(strstr(box.logged, said));
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
  }
}

static void test_tuning_file(void **state) {
  (void)state;
  char tune[300], before[4096];
  cvy_text_copy(before, sizeof(before), getenv("CONVOY_TUNE_FILE"));
  cvy_text_copy(tune, sizeof(tune), path_in("tune.txt"));
  setenv("CONVOY_TUNE_FILE", tune, 1);
  check_place("tune.txt", true);
  assert_int_equal(cvy_records_check(), CONVOY_ERR_IO); /* nor would anything be tuned for it */
  setenv("CONVOY_TUNE_FILE", before, 1);
}

static void test_table_of_faults(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "3", 1);
  check_place("faults.txt", false); /* failover is off: nothing is obeyed */
  alarm(60);
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_ERR_IO);
  assert_non_null(strstr(convoy_last_error(), "faults.txt has 1099511627776 bytes"));
  char text[100]; /* nor is it taken for an empty one */
  assert_int_equal(convoy_fault_table(NULL, text, sizeof(text)), CONVOY_ERR_IO);
  assert_non_null(strstr(convoy_last_error(), "faults.txt has 1099511627776 bytes"));
  alarm(0);
  box_fresh(NULL);
  make_fifo(path_in("faults.txt"));
  alarm(60);
  box_check_opens("fake:1");
  alarm(0);
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged, "faults.txt is a FIFO, not a regular file"));
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
}

/* That the devices are not remembered is told once by a process. */
static void test_roster_of_devices(void **state) {
  (void)state;
  make_fifo(path_in("devices.txt"));
  alarm(60);
  convoy_close(open_tuned());
  alarm(0);
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged, "devices.txt is a FIFO, not a regular file"));
}

static void test_marker(void **state) {
  (void)state;
  check_place("running/0123456789abcdef-12-0.txt", true);
}

static void test_down(void **state) {
  (void)state;
  check_place("downs/boot-7-0123456789abcdef-12-0.txt", true);
}

/* What others may write to is not trusted: neither read nor written, and named in one line. */
static void test_shared_folder(void **state) {
  (void)state;
  assert_int_equal(mkdir(path_in("running"), 0700), 0);
  assert_int_equal(chmod(path_in("running"), 0777), 0);
  box_check_opens("fake:1");
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged, "/running belongs to user "));
  assert_non_null(strstr(box.logged, " and has mode 0777; nobody but user "));
  setenv("CONVOY_FAULT_LIMIT", "3", 1);
  leave("faults.txt");
  assert_int_equal(chmod(path_in("faults.txt"), 0666), 0);
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_ERR_IO);
  assert_non_null(strstr(convoy_last_error(), "faults.txt belongs to user "));
  check_left("faults.txt");
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
}

/* ------------------------------------------------------------------------------- other names */

static void fail_often(int times) {
  fake_reset();
  convoy_context *context = open_named("fake", CONVOY_ON);
  fake.failures = 1000;
  for (int i = 0; i < times; i++) {
    fake.fail_at = 1;
    box_enqueue(context);
    assert_int_equal(convoy_sync(context), CONVOY_OK);
  }
  convoy_close(context);
}

/* Only what bears a name of Convoy's own pattern is judged, removed or told of. */
static void test_files_of_others_stay(void **state) {
  (void)state;
  static const char *const files[] = {"running/notes.txt",
                                      "running/12-0.txt",
                                      "running/0123456789abcdef-1-2.txt~",
                                      "running/a name\nof two lines.txt",
                                      "downs/boot-1-notes.txt",
                                      "reports/2026-thesis.txt",
                                      "reports/2026-11-23T10:00:00Z.txt",
                                      "reports/0.txt"};
  for (size_t i = 0; i < CVY_COUNT(files); i++) leave(files[i]);
  box_die_in_use(false);
  box.boot = 2;
  fail_often(30);
  for (size_t i = 0; i < CVY_COUNT(files); i++) check_left(files[i]);
  assert_int_equal(box_files("reports"), 20 + 3);
  assert_null(strstr(box.logged, "notes"));
}

/* Folders with such names mean themselves, and no others. */
static void test_folder_with_pattern(void **state) {
  (void)state;
  static const char *const names[] = {"st*r", "a[b]", "q?", "back\\slash", "{x,y}", "~"};
  char own[40];
  strcpy(own, box.folder);
  leave("star/running/0123456789abcdef-1-0.txt");
  leave("star/reports/2026-11-23T10:00:00Z-1-000001.txt");
  for (size_t i = 0; i < CVY_COUNT(names); i++) {
    char folder[100];
    snprintf(folder, sizeof(folder), "%s/%s", own, names[i]);
    setenv("CONVOY_STATE_DIR", folder, 1);
    cvy_text_copy(box.folder, sizeof(box.folder), folder);
    box.boot = 1;
    box_die_in_use(false);
    box.boot = 2;
    fail_often(30);
    assert_null(strstr(box.logged, "star"));
    assert_int_equal(box_files("running"), 0); /* judged */
    assert_int_equal(box_files("downs"), 1);
    assert_int_equal(box_files("reports"), 20);
    strcpy(box.folder, own);
  }
  setenv("CONVOY_STATE_DIR", own, 1);
  check_left("star/running/0123456789abcdef-1-0.txt");
  check_left("star/reports/2026-11-23T10:00:00Z-1-000001.txt");
}

/* However many there are, opening takes no longer than some of them do, and says so. */
static void test_many_files(void **state) {
  (void)state;
  enum { FILES = 1500 };
  char path[300], text[CVY_MARKER_TEXT];
  cvy_marker marker = {.boot = "boot-1", .process = 1, .device = "another device"};
  cvy_marker_format(&marker, text);
  leave("downs/notes");
  for (int i = 0; i < FILES; i++) {
    snprintf(path, sizeof(path), "%s/downs/boot-1-0123456789abcdef-%d-0.txt", box.folder, i);
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* no waiting for the disk */
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
  }
  box_check_opens("fake:1");
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged, "1000 of the 1500 markers"));
  assert_int_equal(convoy_fault_table_clear(NULL), CONVOY_OK);
  assert_int_equal(box_files("downs"), 0);
  check_left("downs/notes");
}

/* A folder that cannot be read is told of. Root reads every folder: a file in its place. */
static void test_no_folder(void **state) {
  (void)state;
  leave("running");
  box_check_opens("fake:1");
  assert_non_null(strstr(box.logged, "/running: Not a directory"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_tuning_file, box_fresh),
      cmocka_unit_test_setup(test_table_of_faults, box_fresh),
      cmocka_unit_test_setup(test_roster_of_devices, box_fresh),
      cmocka_unit_test_setup(test_marker, box_fresh),
      cmocka_unit_test_setup(test_down, box_fresh),
      cmocka_unit_test_setup(test_shared_folder, box_fresh),
      cmocka_unit_test_setup(test_files_of_others_stay, box_fresh),
      cmocka_unit_test_setup(test_folder_with_pattern, box_fresh),
      cmocka_unit_test_setup(test_many_files, box_fresh),
      cmocka_unit_test_setup(test_no_folder, box_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
