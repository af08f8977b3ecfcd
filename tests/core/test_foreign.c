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
#include "core/open.h"
#include "core/tunedisk.h"
#include "os/os.h"

static const char *path_in(const char *file) {
  static char path[300];
  snprintf(path, sizeof(path), "%s/%s", box.folder, file);
  return path;
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
  char tune[300];
  cvy_text_copy(tune, sizeof(tune), path_in("tune.txt"));
  setenv("CONVOY_TUNE_FILE", tune, 1);
  check_place("tune.txt", true);
  assert_int_equal(cvy_records_check(), CONVOY_ERR_IO); /* nor would anything be tuned for it */
  unsetenv("CONVOY_TUNE_FILE");
}

static void test_record_of_faults(void **state) {
  (void)state;
  setenv("CONVOY_STRIKE_LIMIT", "3", 1);
  check_place("faults.txt", false); /* failover is off: nothing is obeyed */
  alarm(60);
  assert_int_equal(convoy_record_clear(NULL), CONVOY_ERR_IO);
  assert_non_null(strstr(convoy_last_error(), "faults.txt has 1099511627776 bytes"));
  alarm(0);
  box_fresh(NULL);
  make_fifo(path_in("faults.txt"));
  alarm(60);
  box_check_opens("fake:1");
  alarm(0);
  assert_int_equal(box_lines_logged(), 1);
  assert_non_null(strstr(box.logged, "faults.txt is a FIFO, not a regular file"));
  setenv("CONVOY_STRIKE_LIMIT", "0", 1);
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
  check_place("running/12-0.txt", true);
}

static void test_down(void **state) {
  (void)state;
  check_place("downs/boot-7-12-0.txt", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_tuning_file, box_fresh),
      cmocka_unit_test_setup(test_record_of_faults, box_fresh),
      cmocka_unit_test_setup(test_roster_of_devices, box_fresh),
      cmocka_unit_test_setup(test_marker, box_fresh),
      cmocka_unit_test_setup(test_down, box_fresh),
  };
  return cmocka_run_group_tests(tests, box_make_folder, box_remove_folder);
}
