/* src/os: files, locks, folders. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

enum { MOST = 1 << 20 };
static char folder[64];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/convoy-os-XXXXXX");
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

/* ---------------------------------------------------------------------------- files */

static void test_file_round_trip(void **state) {
  char path[128];
  size_t count = 0;
  char *got;
  (void)state;
  snprintf(path, sizeof path, "%s/a/b/c.bin", folder);
  assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, MOST, &got, &count), CONVOY_ERR_NOT_FOUND);
  assert_null(got);
  for (size_t size = 0; size < 20000; size = 3 * size + 1) {
    unsigned char *bytes = malloc(size + 1);
    lane_fill(bytes, (int64_t)size, size);
    assert_int_equal(cvy_file_write(path, bytes, size), CONVOY_OK);
    assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, size, &got, &count), CONVOY_OK);
    assert_int_equal(count, size);
    assert_memory_equal(got, bytes, size);
    assert_int_equal(got[size], 0);
    free(got);
    free(bytes);
  }
}

static void test_file_failure_leaves_the_old_one(void **state) {
  char path[128], below[192];
  size_t count;
  (void)state;
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(below, sizeof below, "%s/under", path);
  assert_int_equal(cvy_file_write(path, "old", 3), CONVOY_OK);
  assert_int_equal(cvy_file_write(below, "new", 3), CONVOY_ERR_IO);
  assert_sentence_has(below);
  assert_int_equal(cvy_file_write(folder, "new", 3), CONVOY_ERR_IO); /* a folder is there */
  char *got;
  assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, MOST, &got, &count), CONVOY_OK);
  assert_string_equal(got, "old");
  free(got);
}

/* Readers see one of the two texts, never a part or a mixture. */
static void *write_often(void *path) {
  static char texts[2][9000];
  memset(texts[0], 'a', sizeof texts[0]);
  memset(texts[1], 'b', sizeof texts[1]);
  for (int i = 0; i < 40; ++i) cvy_file_write(path, texts[i % 2], sizeof texts[0]);
  return NULL;
}

static void test_file_is_replaced_as_a_whole(void **state) {
  char path[128];
  pthread_t writer;
  (void)state;
  snprintf(path, sizeof path, "%s/whole", folder);
  assert_int_equal(cvy_file_write(path, "", 0), CONVOY_OK);
  pthread_create(&writer, NULL, write_often, path);
  for (int i = 0; i < 500; ++i) {
    size_t count;
    char *got;
    assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, MOST, &got, &count), CONVOY_OK);
    assert_true(count == 0 || count == 9000);
    for (size_t j = 0; j < count; ++j) assert_int_equal(got[j], got[0]);
    free(got);
  }
  pthread_join(writer, NULL);
}

static void assert_unread(const char *path, const char *why) {
  size_t count;
  char *got;
  assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, 100, &got, &count), CONVOY_ERR_IO);
  assert_null(got);
  assert_sentence_has(path);
  assert_sentence_has(why);
}

/* What others may have put into a file's place: refused at once, and named. */
static void test_only_regular_files_are_read(void **state) {
  char path[160], file[128];
  (void)state;
  const double start = cvy_clock();
  snprintf(path, sizeof path, "%s/what", folder);
  snprintf(file, sizeof file, "%s/is", folder);
  assert_int_equal(cvy_file_write(file, "text", 4), CONVOY_OK);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_unread(path, "is a FIFO, not a regular file");
  assert_int_equal(cvy_file_lock(path, 0), -1);
  assert_sentence_has("is a FIFO, not a regular file");
  unlink(path);
  assert_int_equal(symlink(file, path), 0);
  assert_unread(path, "is a symbolic link, not a regular file");
  unlink(path);
  assert_int_equal(symlink(path, path), 0); /* that would lead in a circle */
  assert_unread(path, "is a symbolic link, not a regular file");
  unlink(path);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_unread(path, "is a folder, not a regular file");
  assert_int_equal(cvy_file_lock(path, 0), -1);
  rmdir(path);
  snprintf(path, sizeof path, "%s/below", file);
  assert_unread(path, "Not a directory");
  assert_unread("/dev/zero", "is a character device, not a regular file");
  assert_true(cvy_clock() - start < 5);
}

/* A link that leads nowhere yet: the file at its end is not made. */
static void test_a_lock_follows_no_link(void **state) {
  char path[128], end[128];
  (void)state;
  snprintf(path, sizeof path, "%s/link.lock", folder);
  snprintf(end, sizeof end, "%s/end", folder);
  assert_int_equal(symlink(end, path), 0);
  assert_int_equal(cvy_file_lock(path, 0), -1);
  assert_sentence_has("is a symbolic link, not a regular file");
  assert_int_equal(access(end, F_OK), -1);
}

static void test_size_is_limited(void **state) {
  char path[128], text[101];
  size_t count;
  char *got;
  (void)state;
  memset(text, 'x', sizeof text);
  snprintf(path, sizeof path, "%s/large", folder);
  assert_int_equal(cvy_file_write(path, text, 100), CONVOY_OK);
  assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, 100, &got, &count), CONVOY_OK);
  assert_int_equal(count, 100);
  free(got);
  assert_int_equal(cvy_file_write(path, text, 101), CONVOY_OK);
  assert_unread(path, "has 101 bytes, more than the 100 that are read");
  assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* nothing of it is on the disk */
  assert_unread(path, "has 1099511627776 bytes, more than the 100 that are read");
  assert_unread("/proc/self/maps", "more than the 100 that are read"); /* it claims to have none */
}

/* Where the process may not write so much it is told, instead of ended by a signal. */
static void test_limit_of_the_process(void **state) {
  struct rlimit before, none;
  char path[128];
  (void)state;
  snprintf(path, sizeof path, "%s/limited", folder);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  none = (struct rlimit){3, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
  const convoy_status enough = cvy_file_write(path, "abc", 3);
  const convoy_status status = cvy_file_write(path, "abcd", 4);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(enough, CONVOY_OK);
  assert_int_equal(status, CONVOY_ERR_IO);
  assert_sentence_has("4 bytes, and this process may write 3");
}

/* ---------------------------------------------------------------------------- owners */

/* The linker sends the library's calls here. */
static uid_t pretended = (uid_t)-1; /* who is asking; -1: who we are */
uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void) {
  return pretended == (uid_t)-1 ? __real_geteuid() : pretended;
}

enum { ANOTHER = 4242 };

/* Makes it another user's, or this process another user; root can do the one, and needs to. */
static void part_with(const char *path) {
  if (__real_geteuid() == 0)
    assert_int_equal(lchown(path, ANOTHER, (gid_t)-1), 0);
  else
    pretended = ANOTHER;
}

static void test_files_of_others_are_not_read(void **state) {
  static const mode_t shared[] = {0664, 0646, 0620, 0602};
  char path[128], *got;
  size_t count;
  (void)state;
  snprintf(path, sizeof path, "%s/whose", folder);
  assert_int_equal(cvy_file_write(path, "text", 4), CONVOY_OK);
  for (size_t i = 0; i < CVY_COUNT(shared); i++) {
    assert_int_equal(chmod(path, shared[i]), 0);
    assert_int_equal(cvy_file_read(path, CVY_FILE_CODE, MOST, &got, &count), CONVOY_ERR_IO);
    assert_sentence_has("nobody but user");
  }
  assert_unread(path, "has mode 0602");
  assert_int_equal(cvy_file_lock(path, 0), -1);
  assert_int_equal(chmod(path, 0644), 0);
  assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, MOST, &got, &count), CONVOY_OK);
  free(got);
  part_with(path);
  assert_unread(path, "nobody but user");
  assert_int_equal(cvy_file_lock(path, 0), -1);
  assert_int_equal(cvy_file_read(path, CVY_FILE_INSTALLED, MOST, &got, &count), CONVOY_OK);
  free(got);
  pretended = (uid_t)-1;
  unlink(path);
}

/* The group of a user's own number is his alone, which matters for texts. */
static void test_private_group(void **state) {
  char path[128], *got;
  size_t count;
  struct stat about;
  (void)state;
  snprintf(path, sizeof path, "%s/private", folder);
  assert_int_equal(cvy_file_write(path, "text", 4), CONVOY_OK);
  if (__real_geteuid() == 0) {
    pretended = ANOTHER;
    assert_int_equal(chown(path, ANOTHER, ANOTHER), 0);
  }
  assert_int_equal(chmod(path, 0664), 0);
  assert_int_equal(stat(path, &about), 0);
  if (about.st_uid == about.st_gid) {
    assert_int_equal(cvy_file_read(path, CVY_FILE_TEXT, MOST, &got, &count), CONVOY_OK);
    free(got);
  } else {
    assert_unread(path, "has mode 0664");
  }
  assert_int_equal(cvy_file_read(path, CVY_FILE_CODE, MOST, &got, &count), CONVOY_ERR_IO);
  assert_int_equal(chmod(path, 0666), 0);
  assert_unread(path, "has mode 0666");
  if (__real_geteuid() == 0) {
    assert_int_equal(chown(path, ANOTHER, ANOTHER + 1), 0);
    assert_int_equal(chmod(path, 0664), 0);
    assert_unread(path, "belongs to user 4242 and group 4243");
    assert_int_equal(chown(path, 0, 0), 0); /* root's is not private */
    assert_unread(path, "belongs to user 0 and group 0");
  }
  pretended = (uid_t)-1;
  unlink(path);
}

static void test_folders_of_others_are_refused(void **state) {
  char path[128], link[128], file[200];
  (void)state;
  snprintf(path, sizeof path, "%s/shared", folder);
  snprintf(link, sizeof link, "%s/link", folder);
  setenv("CONVOY_CACHE_DIR", path, 1);
  setenv("CONVOY_STATE_DIR", link, 1);
  assert_int_equal(cvy_cache_path("", "/file", file, sizeof file), CONVOY_OK); /* not there yet */
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(symlink(path, link), 0);
  assert_int_equal(cvy_state_path("", "/file", file, sizeof file), CONVOY_OK);
  static const mode_t shared[] = {0770, 0702, 0777};
  for (size_t i = 0; i < CVY_COUNT(shared); i++) {
    assert_int_equal(chmod(path, shared[i]), 0);
    assert_int_equal(cvy_cache_path("", "/file", file, sizeof file), CONVOY_ERR_IO);
    assert_sentence_has(path);
    assert_sentence_has("; nobody but user");
  }
  assert_int_equal(cvy_state_path("", "/file", file, sizeof file), CONVOY_ERR_IO);
  assert_sentence_has(link);
  assert_sentence_has("has mode 0777");
  assert_int_equal(cvy_cache_path("/inner", "/file", file, sizeof file), CONVOY_ERR_IO);
  assert_sentence_has("/shared belongs to");
  assert_int_equal(chmod(path, 01777), 0); /* where each has his own */
  assert_int_equal(cvy_cache_path("", "/file", file, sizeof file), CONVOY_OK);
  part_with(path);
  assert_int_equal(cvy_cache_path("", "/file", file, sizeof file), CONVOY_ERR_IO);
  assert_int_equal(chmod(path, 0700), 0);
  assert_int_equal(cvy_cache_path("", "/file", file, sizeof file), CONVOY_ERR_IO);
  assert_sentence_has("has mode 0700");
  pretended = (uid_t)-1;
  assert_int_equal(chmod(path, 0), 0);
  unlink(link);
  rmdir(path);
}

/* Whatever the umask is. */
static void test_new_folders_are_private(void **state) {
  struct stat about;
  char path[128];
  (void)state;
  const mode_t before = umask(0);
  snprintf(path, sizeof path, "%s/new/er/file", folder);
  const convoy_status status = cvy_file_write(path, "", 0);
  umask(before);
  assert_int_equal(status, CONVOY_OK);
  for (int i = 0; i < 2; i++) {
    *strrchr(path, '/') = 0;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
  }
}

/* -------------------------------------------------------------------------- folders */

static void test_folders(void **state) {
  char path[256];
  (void)state;
  unsetenv("CONVOY_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("XDG_CONFIG_HOME");
  unsetenv("CONVOY_TUNE_FILE");
  unsetenv("CONVOY_STATE_DIR");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", "/home/x", 1);
  assert_int_equal(cvy_cache_path("", "", path, sizeof path), CONVOY_OK);
  assert_string_equal(path, "/home/x/.cache/convoy");
  assert_int_equal(cvy_tune_path(path, sizeof path), CONVOY_OK);
  assert_string_equal(path, "/home/x/.config/convoy/tune.txt");
  assert_int_equal(cvy_state_path("/downs", "", path, sizeof path), CONVOY_OK);
  assert_string_equal(path, "/home/x/.local/state/convoy/downs");
  setenv("XDG_CACHE_HOME", "/c", 1);
  setenv("XDG_CONFIG_HOME", "relative", 1); /* to be ignored, says XDG */
  assert_int_equal(cvy_cache_path("/ocl", "", path, sizeof path), CONVOY_OK);
  assert_string_equal(path, "/c/convoy/ocl");
  assert_int_equal(cvy_tune_path(path, sizeof path), CONVOY_OK);
  assert_string_equal(path, "/home/x/.config/convoy/tune.txt");
  setenv("CONVOY_CACHE_DIR", "/own", 1);
  assert_int_equal(cvy_cache_path("", "", path, sizeof path), CONVOY_OK);
  assert_string_equal(path, "/own");
  assert_int_equal(cvy_cache_path("", "", path, 4), CONVOY_ERR_IO);
  assert_sentence_has("has 4 bytes; 3 fit");
  unsetenv("HOME");
  assert_int_equal(cvy_tune_path(path, sizeof path), CONVOY_ERR_NOT_FOUND);
  assert_sentence_has(
      "there is no place for the tuning file: CONVOY_TUNE_FILE, XDG_CONFIG_HOME and HOME are ");
  assert_int_equal(cvy_state_path("", "", path, sizeof path), CONVOY_ERR_NOT_FOUND);
  assert_sentence_has("CONVOY_STATE_DIR, XDG_STATE_HOME and HOME are not set");
}

static void test_long_names(void **state) {
  static char name[5000], path[6000];
  (void)state;
  memset(name, 'x', sizeof name - 1);
  name[0] = '/';
  setenv("CONVOY_STATE_DIR", name, 1);
  assert_int_equal(cvy_state_path("", "", path, sizeof path), CONVOY_ERR_IO);
  assert_sentence_has("the path of faults and markers has more than 4095 bytes");
  unsetenv("CONVOY_STATE_DIR");
}

/* In a process of its own, since its start is for good. */
static int in_child(int (*part)(void)) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) _exit(part());
  waitpid(child, &status, 0);
  return status;
}

static int stays_where_it_was(void) {
  char path[256], wanted[256];
  snprintf(wanted, sizeof wanted, "%s/here/ocl", folder);
  setenv("CONVOY_CACHE_DIR", "here", 1);
  return chdir(folder) || cvy_cache_path("/ocl", "", path, sizeof path) || strcmp(path, wanted) ||
         chdir("/") || cvy_cache_path("/ocl", "", path, sizeof path) || strcmp(path, wanted) ||
         cvy_absolute("/usr", path, sizeof path) || strcmp(path, "/usr");
}

static int starts_where_it_is_told(void) {
  char path[256];
  cvy_start_in("/elsewhere");
  cvy_start_in("/too late");
  return cvy_absolute("file", path, sizeof path) || strcmp(path, "/elsewhere/file");
}

static int has_no_start(void) {
  char path[256];
  snprintf(path, sizeof path, "%s/gone", folder);
  return mkdir(path, 0700) || chdir(path) || rmdir(path) ||
         cvy_absolute("file", path, sizeof path) != CONVOY_ERR_IO ||
         !strstr(cvy_last_error(), "file is relative to a folder that is not there any more");
}

static int starts_at_the_root(void) {
  char path[256];
  return chdir("/") || cvy_absolute("file", path, sizeof path) || strcmp(path, "/file");
}

static void test_relative_names(void **state) {
  (void)state;
  assert_int_equal(in_child(stays_where_it_was), 0);
  assert_int_equal(in_child(starts_where_it_is_told), 0);
  assert_int_equal(in_child(has_no_start), 0);
  assert_int_equal(in_child(starts_at_the_root), 0);
}

static void test_libexec_folder(void **state) {
  char *libexec = strdup(getenv("CONVOY_LIBEXEC"));
  char path[4096];
  (void)state;
  assert_true(cvy_libexec_folder(path, sizeof path));
  assert_string_equal(path, libexec);
  unsetenv("CONVOY_LIBEXEC");
  assert_true(cvy_libexec_folder(path, sizeof path));
  assert_int_equal(path[0], '/');
  assert_string_equal(strrchr(path, '/'), "/convoy-libexec");
  setenv("CONVOY_LIBEXEC", libexec, 1);
  free(libexec);
}

/* ---------------------------------------------------------------------------- locks */

/* The linker sends the library's calls here. */
static bool no_locks;
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  if (!no_locks) return __real_flock(fd, operation);
  errno = ENOLCK;
  return -1;
}

/* Nor is anything waited for where a file system has none. */
static void test_locks(void **state) {
  char path[] = "/tmp/convoy-lock-XXXXXX";
  (void)state;
  close(mkstemp(path));
  const int lock = cvy_file_lock(path, 0);
  assert_true(lock >= 0);
  const double start = cvy_clock();
  assert_int_equal(cvy_file_lock(path, 0.1), -1);
  assert_true(cvy_clock() - start >= 0.1);
  cvy_file_unlock(lock);
  no_locks = true;
  assert_int_equal(cvy_file_lock(path, 60), -1);
  no_locks = false;
  assert_true(cvy_clock() - start < 30);
  unlink(path);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_file_round_trip),
      cmocka_unit_test(test_file_failure_leaves_the_old_one),
      cmocka_unit_test(test_file_is_replaced_as_a_whole),
      cmocka_unit_test(test_only_regular_files_are_read),
      cmocka_unit_test(test_a_lock_follows_no_link),
      cmocka_unit_test(test_size_is_limited),
      cmocka_unit_test(test_limit_of_the_process),
      cmocka_unit_test(test_locks),
      cmocka_unit_test(test_files_of_others_are_not_read),
      cmocka_unit_test(test_private_group),
      cmocka_unit_test(test_folders_of_others_are_refused),
      cmocka_unit_test(test_new_folders_are_private),
      cmocka_unit_test(test_relative_names),
      cmocka_unit_test(test_folders),
      cmocka_unit_test(test_long_names),
      cmocka_unit_test(test_libexec_folder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
