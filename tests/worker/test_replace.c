/* src/os: files that are replaced. What becomes of mode, owner and links, and of what a process
 * that is killed leaves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

enum { ANOTHER = 4242 };
static char folder[64], path[128], other[128];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/convoy-replace-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/a.safetensors", folder);
  snprintf(other, sizeof other, "%s/other", folder);
  return 0;
}

static int remove_folder(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static convoy_status save(const char *at, const char *text) {
  const cvy_file_piece pieces[] = {{text, 1}, {text + 1, strlen(text) - 1}};
  return cvy_file_save(at, pieces, CVY_COUNT(pieces));
}

static void check_text(const char *at, const char *text) {
  char got[64] = "";
  const int fd = open(at, O_RDONLY);
  assert_true(fd >= 0);
  assert_true(read(fd, got, sizeof got - 1) >= 0);
  close(fd);
  assert_string_equal(got, text);
}

static mode_t mode_of(const char *at) {
  struct stat about;
  assert_int_equal(lstat(at, &about), 0);
  return about.st_mode & 07777;
}

static int entries(const char *in) {
  int count = -2; /* . and .. */
  DIR *from = opendir(in);
  assert_non_null(from);
  while (readdir(from)) count++;
  closedir(from);
  return count;
}

/* ----------------------------------------------------------------------------- mode, owner */

static void test_new_files_are_as_open_as_the_umask_says(void **state) {
  static const struct {
    mode_t mask, users, own;
  } cases[] = {{077, 0600, 0600}, {022, 0644, 0644}, {027, 0640, 0640}, {002, 0664, 0644}};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    const mode_t before = umask(cases[i].mask);
    const convoy_status saved = save(path, "one"), written = cvy_file_write(other, "two", 3);
    umask(before);
    assert_int_equal(saved, CONVOY_OK);
    assert_int_equal(written, CONVOY_OK);
    assert_int_equal(mode_of(path), cases[i].users);
    assert_int_equal(mode_of(other), cases[i].own);
    unlink(path);
    unlink(other);
  }
}

static void test_old_files_keep_their_mode(void **state) {
  static const mode_t modes[] = {0600, 0640, 0644, 0666, 0444};
  (void)state;
  for (size_t i = 0; i < CVY_COUNT(modes); i++) {
    assert_int_equal(save(path, "old"), CONVOY_OK);
    assert_int_equal(chmod(path, modes[i]), 0);
    assert_int_equal(save(path, "new"), CONVOY_OK);
    check_text(path, "new");
    assert_int_equal(mode_of(path), modes[i]);
    assert_int_equal(cvy_file_write(path, "own", 3), CONVOY_OK);
    assert_int_equal(mode_of(path), modes[i]);
  }
  unlink(path);
}

/* The linker sends the library's calls here. */
static bool no_chown;
int __real_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group) {
  if (!no_chown) return __real_fchown(fd, user, group);
  errno = EPERM;
  return -1;
}

static bool is_root(const char *what) {
  if (geteuid() == 0) return true;
  print_message("not root: %s is not tried\n", what);
  return false;
}

static void test_old_files_keep_their_owner(void **state) {
  struct stat about;
  (void)state;
  if (!is_root("another user's file")) return;
  assert_int_equal(save(path, "old"), CONVOY_OK);
  assert_int_equal(chown(path, ANOTHER, ANOTHER + 1), 0);
  assert_int_equal(chmod(path, 0660), 0);
  assert_int_equal(save(path, "new"), CONVOY_OK);
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_uid, ANOTHER);
  assert_int_equal(about.st_gid, ANOTHER + 1);
  assert_int_equal(about.st_mode & 07777, 0660);
  no_chown = true; /* then it is not opened to another group */
  const convoy_status status = save(path, "mine");
  no_chown = false;
  assert_int_equal(status, CONVOY_OK);
  assert_int_equal(mode_of(path), 0600);
  unlink(path);
}

/* Those of single users, beside the mode, whose group bits then are the most that they may have. */
static void test_old_files_keep_their_rights(void **state) {
  static const struct {
    uint32_t version;
    struct {
      uint16_t tag, permissions;
      uint32_t id;
    } entries[5];
  } rights = {2, {{1, 6, ~0u}, {2, 6, ANOTHER}, {4, 0, ~0u}, {16, 6, ~0u}, {32, 0, ~0u}}};
  static const char name[] = "system.posix_acl_access", given[] = "system.posix_acl_default";
  char got[64];
  (void)state;
  assert_int_equal(save(path, "old"), CONVOY_OK);
  if (setxattr(path, name, &rights, sizeof rights, 0) && errno == ENOTSUP) {
    print_message("%s has no access control lists\n", folder);
    return;
  }
  assert_int_equal(mode_of(path), 0660);
  assert_int_equal(save(path, "new"), CONVOY_OK);
  assert_int_equal(mode_of(path), 0660);
  assert_int_equal(getxattr(path, name, got, sizeof got), sizeof rights);
  assert_memory_equal(got, &rights, sizeof rights);
  assert_int_equal(removexattr(path, name), 0); /* nor does it get new ones */
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(setxattr(folder, given, &rights, sizeof rights, 0), 0);
  assert_int_equal(save(path, "new"), CONVOY_OK);
  assert_int_equal(mode_of(path), 0640);
  assert_int_equal(getxattr(path, name, got, sizeof got), -1);
  unlink(path);
  assert_int_equal(removexattr(folder, given), 0);
}

/* ----------------------------------------------------------------------------------- links */

/* Saves through a link of this text; what it leads to is new, and the link is as it was. */
static void check_through(const char *text, const char *end) {
  char got[256] = "";
  assert_int_equal(symlink(text, path), 0);
  assert_int_equal(save(path, text), CONVOY_OK);
  assert_true(readlink(path, got, sizeof got - 1) > 0);
  assert_string_equal(got, text);
  check_text(end, text);
  unlink(path);
}

static void test_links_stay(void **state) {
  char between[128], far[256], far_folder[] = "/dev/shm/convoy-replace-XXXXXX";
  (void)state;
  assert_int_equal(save(other, "old"), CONVOY_OK);
  assert_int_equal(chmod(other, 0600), 0);
  check_through("other", other);
  check_through(other, other);
  assert_int_equal(mode_of(other), 0600);
  snprintf(between, sizeof between, "%s/between", folder);
  assert_int_equal(mkdir(between, 0700), 0);
  snprintf(far, sizeof far, "%s/link", between);
  assert_int_equal(symlink("../other", far), 0);
  check_through("between/link", other);
  assert_int_equal(entries(between), 1);
  unlink(far);
  rmdir(between);
  assert_non_null(mkdtemp(far_folder)); /* another file system, on most machines */
  snprintf(far, sizeof far, "%s/far", far_folder);
  check_through(far, far);
  check_through(far, far);
  assert_int_equal(entries(far_folder), 1);
  unlink(far);
  rmdir(far_folder);
  unlink(other);
  assert_int_equal(entries(folder), 0);
}

static void test_links_to_nothing_yet(void **state) {
  char end[256];
  (void)state;
  check_through("other", other);
  unlink(other);
  snprintf(end, sizeof end, "%s/new/folder/file", folder);
  check_through("new/folder/file", end);
  unlink(end);
  *strrchr(end, '/') = 0;
  rmdir(end);
  *strrchr(end, '/') = 0;
  rmdir(end);
}

static void check_refused(const char *at, const char *why) {
  struct stat before, after;
  assert_int_equal(lstat(at, &before), 0);
  assert_int_equal(save(at, "new"), CONVOY_ERR_IO);
  assert_sentence_has(at);
  assert_sentence_has(why);
  assert_int_equal(lstat(at, &after), 0);
  assert_int_equal(before.st_ino, after.st_ino);
}

static void test_links_that_lead_nowhere(void **state) {
  (void)state;
  assert_int_equal(symlink("a.safetensors", path), 0);
  check_refused(path, "Too many levels of symbolic links");
  unlink(path);
  assert_int_equal(symlink(other, path), 0);
  assert_int_equal(symlink(path, other), 0);
  check_refused(path, "Too many levels of symbolic links");
  unlink(other);
  assert_int_equal(mkfifo(other, 0600), 0);
  assert_int_equal(save(path, "new"), CONVOY_ERR_IO);
  assert_sentence_has("other is a FIFO, not a regular file");
  check_refused(other, "is a FIFO, not a regular file");
  unlink(other);
  unlink(path);
  assert_int_equal(entries(folder), 0);
}

/* Convoy's own files are not reached by links, which others may have made. */
static void test_own_files_are_no_links(void **state) {
  (void)state;
  assert_int_equal(symlink(other, path), 0);
  assert_int_equal(cvy_file_write(path, "own", 3), CONVOY_ERR_IO);
  assert_sentence_has("is a symbolic link, not a regular file");
  assert_int_equal(access(other, F_OK), -1);
  assert_int_equal(cvy_file_cache(path, &(cvy_file_piece){"own", 3}, 1), CONVOY_OK);
  assert_int_equal(mode_of(path), 0644);
  assert_int_equal(access(other, F_OK), -1);
  unlink(path);
}

static void test_links_that_others_planted(void **state) {
  (void)state;
  if (!is_root("another user's link")) return;
  assert_int_equal(symlink(other, path), 0);
  assert_int_equal(lchown(path, ANOTHER, ANOTHER), 0);
  assert_int_equal(save(path, "in a folder of ours"), CONVOY_OK);
  assert_int_equal(chmod(folder, 01777), 0);
  check_refused(path, "is a symbolic link of user 4242 in a folder for all");
  assert_int_equal(chown(folder, ANOTHER, ANOTHER), 0);
  assert_int_equal(save(path, "new"), CONVOY_OK);
  assert_int_equal(chown(folder, 0, 0), 0);
  assert_int_equal(chmod(folder, 0700), 0);
  unlink(path);
  unlink(other);
}

/* ---------------------------------------------------------------------------------- killed */

enum { LARGE = 8 << 20 };

/* Saves for ever, to a file of its own. */
static pid_t start_saving(int number) {
  const pid_t child = fork();
  if (child) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* where a test fails before it ends this */
  char at[128], *bytes = calloc(1, LARGE);
  snprintf(at, sizeof at, "%s/saved-%d", folder, number);
  for (;;) cvy_file_save(at, &(cvy_file_piece){bytes, LARGE}, 1);
}

static void end_saving(pid_t child) {
  int status;
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
}

static bool is_there(int number) {
  char at[128];
  snprintf(at, sizeof at, "%s/saved-%d", folder, number);
  return access(at, F_OK) == 0;
}

static void test_what_killed_processes_leave(void **state) {
  enum { TOGETHER = 3, KILLS = 50 };
  int left = 0;
  (void)state;
  for (int i = 0; i < KILLS; i++) {
    const pid_t child = start_saving(0);
    usleep(3000 + 1000 * (useconds_t)(i % 17));
    end_saving(child);
    const int more = entries(folder) - is_there(0);
    assert_true(more <= 1);
    left += more;
  }
  assert_true(left > 0); /* some were killed at it */
  pid_t children[TOGETHER];
  for (int i = 0; i < TOGETHER; i++) children[i] = start_saving(i);
  usleep(50000);
  for (int i = 0; i < TOGETHER; i++) end_saving(children[i]);
  assert_int_equal(save(path, "whole"), CONVOY_OK);
  check_text(path, "whole");
  assert_int_equal(entries(folder), 1 + is_there(0) + is_there(1) + is_there(2));
}

static void put(const char *name, const char *text) {
  const int fd = openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
}

/* Only a regular file of this user's, of the very name and with no second one, was left by Convoy.
 */
static void test_files_of_others_stay(void **state) {
  static const char *const names[] = {
      ".convoy-saving",    ".convoy-saving-",  ".convoy-saving-00",
      ".convoy-saving-0~", "convoy-saving-0",  ".convoy-saving-0.bak",
      ".convoy-saving-x",  ".Convoy-saving-0", ".convoy-saving--1"};
  enum { KINDS = 5 };
  const int kinds = geteuid() == 0 ? KINDS : KINDS - 1;
  (void)state;
  assert_int_equal(chdir(folder), 0);
  for (size_t i = 0; i < CVY_COUNT(names); i++) put(names[i], "mine");
  assert_int_equal(mkdir(".convoy-saving-0", 0700), 0);
  assert_int_equal(symlink(names[0], ".convoy-saving-1"), 0);
  assert_int_equal(link(names[1], ".convoy-saving-2"), 0);
  assert_int_equal(mkfifo(".convoy-saving-3", 0600), 0);
  if (kinds == KINDS) put(".convoy-saving-4", "another's");
  if (kinds == KINDS) assert_int_equal(chown(".convoy-saving-4", ANOTHER, ANOTHER), 0);
  for (int i = 0; i < 3; i++) assert_int_equal(save("a.safetensors", "whole"), CONVOY_OK);
  assert_int_equal(entries("."), CVY_COUNT(names) + (size_t)kinds + 1);
  for (size_t i = 0; i < CVY_COUNT(names); i++) check_text(names[i], "mine");
  put(".convoy-saving-11", "left");
  assert_int_equal(save("a.safetensors", "whole"), CONVOY_OK);
  assert_int_equal(access(".convoy-saving-11", F_OK), -1);
  assert_int_equal(chdir("/"), 0);
}

static void test_what_is_being_written_stays(void **state) {
  char partial[128];
  struct stat about;
  int status;
  (void)state;
  snprintf(partial, sizeof partial, "%s/.convoy-saving-0", folder);
  const pid_t child = start_saving(0);
  const double start = cvy_clock();
  do { /* until it is stopped at it, and has the lock: it has written something */
    kill(child, SIGCONT);
    usleep(1000);
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(cvy_clock() - start < 60);
  } while (stat(partial, &about) != 0 || about.st_size == 0);
  for (int i = 0; i < 3; i++) assert_int_equal(save(path, "whole"), CONVOY_OK);
  assert_int_equal(access(partial, F_OK), 0);
  assert_int_equal(entries(folder), 2 + is_there(0));
  end_saving(child);
  assert_int_equal(save(path, "whole"), CONVOY_OK);
  assert_int_equal(entries(folder), 1 + is_there(0));
}

static void test_many_at_once(void **state) {
  enum { PROCESSES = 6, SAVES = 150 };
  (void)state;
  for (int i = 0; i < PROCESSES; i++) {
    if (fork()) continue;
    for (int k = 0; k < SAVES; k++)
      if (cvy_file_cache(path, &(cvy_file_piece){"whole", 5}, 1)) _exit(1);
    _exit(0);
  }
  for (int i = 0, status; i < PROCESSES; i++) {
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
  check_text(path, "whole");
  assert_int_equal(entries(folder), 1);
}

static bool no_locks;
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  if (!no_locks) return __real_flock(fd, operation);
  errno = ENOLCK;
  return -1;
}

/* Without locks nobody can tell what is being written. */
static void test_without_locks(void **state) {
  char partial[128];
  (void)state;
  snprintf(partial, sizeof partial, "%s/.convoy-saving-0", folder);
  put(partial, "left");
  no_locks = true;
  const convoy_status status = save(path, "whole");
  no_locks = false;
  assert_int_equal(status, CONVOY_OK);
  check_text(path, "whole");
  check_text(partial, "left");
  assert_int_equal(entries(folder), 2);
}

static void test_the_longest_name(void **state) {
  char long_path[512];
  (void)state;
  const int length = snprintf(long_path, sizeof long_path, "%s/", folder);
  memset(long_path + length, 'x', 255);
  long_path[length + 255] = 0;
  assert_int_equal(save(long_path, "whole"), CONVOY_OK);
  check_text(long_path, "whole");
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
  static const struct CMUnitTest tests[] = {
      IN_FOLDER(test_new_files_are_as_open_as_the_umask_says),
      IN_FOLDER(test_old_files_keep_their_mode),
      IN_FOLDER(test_old_files_keep_their_owner),
      IN_FOLDER(test_old_files_keep_their_rights),
      IN_FOLDER(test_links_stay),
      IN_FOLDER(test_links_to_nothing_yet),
      IN_FOLDER(test_links_that_lead_nowhere),
      IN_FOLDER(test_own_files_are_no_links),
      IN_FOLDER(test_links_that_others_planted),
      IN_FOLDER(test_what_killed_processes_leave),
      IN_FOLDER(test_files_of_others_stay),
      IN_FOLDER(test_what_is_being_written_stays),
      IN_FOLDER(test_many_at_once),
      IN_FOLDER(test_without_locks),
      IN_FOLDER(test_the_longest_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
