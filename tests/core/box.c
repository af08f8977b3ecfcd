#include "core/box.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"
#include "os/os.h"

box_state box = {.folder = "/tmp/convoy-blackbox-XXXXXX"};

/* The linker sends these calls here (--wrap). */
bool __wrap_cvy_boot_id(char *text, size_t size);
double __real_cvy_clock(void);
double __wrap_cvy_clock(void);
convoy_status __real_cvy_file_write(const char *path, const void *bytes, size_t count);
convoy_status __wrap_cvy_file_write(const char *path, const void *bytes, size_t count);

int64_t __wrap_cvy_boot_began(void);
void __wrap_cvy_boot_look_back(const char *root, cvy_past_boot *boot);
void __wrap_cvy_pid_namespace(char *text, size_t size);

/* Right after what happened in the boot before. */
int64_t __wrap_cvy_boot_began(void) {
  return cvy_date() + 1;
}

void __wrap_cvy_boot_look_back(const char *root, cvy_past_boot *boot) {
  (void)root;
  boot->orderly = box.past.orderly;
  boot->alive = box.past.alive > boot->seen ? box.past.alive : boot->seen;
}

void __wrap_cvy_pid_namespace(char *text, size_t size) {
  snprintf(text, size, "%s", box.contained ? "pid:[4026532500]" : CVY_FIRST_PID_NAMESPACE);
}

bool __wrap_cvy_boot_id(char *text, size_t size) {
  snprintf(text, size, "boot-%d", box.boot);
  return true;
}

double __wrap_cvy_clock(void) {
  return __real_cvy_clock() + box.later;
}

convoy_status __wrap_cvy_file_write(const char *path, const void *bytes, size_t count) {
  if (box.disk_full) return cvy_fail(CONVOY_ERR_IO, "the disk is full");
  return __real_cvy_file_write(path, bytes, count);
}

/* -------------------------------------------------------------------------------- folder and log */

static void keep_log(void *user, convoy_log_level level, const char *line) {
  (void)user;
  (void)level;
  const size_t used = strlen(box.logged);
  if (used + strlen(line) + 2 < sizeof(box.logged)) sprintf(box.logged + used, "%s\n", line);
}

int box_lines_logged(void) {
  int lines = 0;
  for (const char *at = box.logged; (at = strchr(at, '\n')); at++) lines++;
  return lines;
}

int box_fresh(void **state) {
  char command[200];
  (void)state;
  snprintf(command, sizeof(command), "rm -rf %s/*", box.folder);
  assert_int_equal(system(command), 0);
  fake_reset();
  box.boot = 1;
  box.later = 0;
  box.disk_full = box.contained = false;
  box.past = (cvy_past_boot){0};
  box.logged[0] = '\0';
  convoy_set_log(keep_log, NULL, CONVOY_LOG_WARNING);
  return 0;
}

int box_make_folder(void **state) {
  (void)state;
  if (!mkdtemp(box.folder)) return -1;
  return setenv("CONVOY_STATE_DIR", box.folder, 1);
}

int box_remove_folder(void **state) {
  box_fresh(state);
  return rmdir(box.folder);
}

/* ----------------------------------------------------------------------------------- files */

int box_files(const char *kind) {
  char path[200];
  int count = 0;
  snprintf(path, sizeof(path), "%s/%s", box.folder, kind);
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    const char *end = strrchr(entry->d_name, '.');
    count += end && strcmp(end, ".txt") == 0;
  }
  if (folder) closedir(folder);
  return count;
}

void box_path(const char *kind, char *path, size_t size) {
  char pattern[200];
  glob_t found;
  snprintf(pattern, sizeof(pattern), "%s/%s/*.txt", box.folder, kind);
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
  globfree(&found);
}

char *box_text(const char *kind) {
  char path[300], *text;
  size_t count;
  box_path(kind, path, sizeof(path));
  assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, 1 << 20, &text, &count), 0);
  return text;
}

cvy_marker box_marker(void) {
  cvy_marker marker;
  char *text = box_text("running");
  assert_true(cvy_marker_parse(text, &marker));
  free(text);
  return marker;
}

/* -------------------------------------------------------------------------------- trainers */

static const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, 3};
static const convoy_conv conv = CONVOY_CONV_INIT(1);

void box_enqueue(convoy_context *context) {
  convoy_tensor *x = tensor_of(context, x_shape, NULL), *w = tensor_of(context, w_shape, NULL);
  convoy_tensor *y = tensor_of(context, y_shape, NULL);
  assert_int_equal(convoy_forward(context, &conv, x, w, NULL, NULL, y, NULL), CONVOY_OK);
  convoy_tensor_free(x);
  convoy_tensor_free(w);
  convoy_tensor_free(y);
}

void box_die_in_use(bool in_first_use) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    convoy_context *context = open_named("fake", CONVOY_NO);
    convoy_mark_step(context, 7);
    box_enqueue(context);
    if (!in_first_use) convoy_sync(context);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

const char *box_device(convoy_context *context) {
  static convoy_device_info info;
  info.struct_size = sizeof(info);
  assert_int_equal(convoy_context_device(context, &info), CONVOY_OK);
  return info.id;
}

void box_check_opens(const char *device) {
  convoy_context *context = open_named("fake", CONVOY_ON);
  assert_string_equal(box_device(context), device);
  convoy_close(context);
}
