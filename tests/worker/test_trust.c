/* src/os: whose code is run, and whose environment is heeded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "worker/lane.h"

enum { ANOTHER = 4242 };
static char folder[64], library[128], above[128], upper[128], program[160];

/* The linker sends the library's calls here. */
static uid_t pretended = (uid_t)-1; /* who is asking; -1: who we are */
uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void) {
  return pretended == (uid_t)-1 ? __real_geteuid() : pretended;
}
static bool elsewhere; /* the library is the one of this test */
const char *__real_cvy_library_path(void);
const char *__wrap_cvy_library_path(void);
const char *__wrap_cvy_library_path(void) {
  return elsewhere ? library : __real_cvy_library_path();
}
static bool privileged;
unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type) {
  return privileged && type == AT_SECURE ? 1 : __real_getauxval(type);
}

static bool is_root(const char *what) {
  if (__real_geteuid() == 0) return true;
  print_message("not root: %s is not tried\n", what);
  return false;
}

/* A library, and elsewhere a program two folders down. */
static int make_program(void **state) {
  (void)state;
  strcpy(folder, "/tmp/convoy-trust-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(library, sizeof library, "%s/lib/libconvoy.so", folder);
  snprintf(upper, sizeof upper, "%s/upper", folder);
  snprintf(above, sizeof above, "%s/upper/libexec", folder);
  snprintf(program, sizeof program, "%s/convoy-worker", above);
  elsewhere = true;
  return cvy_file_write(library, "", 0) || cvy_file_write(program, "", 0) || chmod(program, 0755);
}

static int remove_program(void **state) {
  char command[128];
  (void)state;
  pretended = (uid_t)-1;
  elsewhere = privileged = false;
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static void check_run(const char *at) {
  char path[4096];
  cvy_text_copy(path, sizeof path, at);
  if (cvy_code_find(path, sizeof path)) fail_msg("%s", cvy_last_error());
  assert_string_equal(path, program);
}

/* And says for whose sake. */
static void check_not_run(const char *at, const char *because) {
  char path[4096], said[256];
  cvy_text_copy(path, sizeof path, at);
  snprintf(said, sizeof said, " is not run: %s belongs to user ", because);
  assert_int_equal(cvy_code_find(path, sizeof path), CONVOY_ERR_IO);
  assert_sentence_has(said);
}

static const char *const levels[] = {program, above, upper};

static void test_nothing_that_others_may_write_to(void **state) {
  static const mode_t open[] = {0757, 0777, 0702};
  (void)state;
  check_run(program);
  for (size_t i = 0; i < CVY_COUNT(levels); i++) {
    for (size_t m = 0; m < CVY_COUNT(open); m++) {
      assert_int_equal(chmod(levels[i], open[m]), 0);
      check_not_run(program, levels[i]);
    }
    assert_int_equal(chmod(levels[i], 01777), 0); /* in such a folder each has his own */
    if (levels[i] == program)
      check_not_run(program, program);
    else
      check_run(program);
    assert_int_equal(chmod(levels[i], 0755), 0);
  }
}

static void test_nothing_of_others(void **state) {
  (void)state;
  if (!is_root("another user's program")) return;
  for (size_t i = 0; i < CVY_COUNT(levels); i++) {
    assert_int_equal(chown(levels[i], ANOTHER, 0), 0);
    check_not_run(program, levels[i]);
    assert_int_equal(chmod(upper, 01777), 0);
    check_not_run(program, levels[i]);
    assert_int_equal(chmod(upper, 0755), 0);
    assert_int_equal(chown(levels[i], 0, 0), 0);
  }
}

/* As of a folder of the host in a container, or where each user builds with umask 002. */
static void test_what_goes_for_the_library(void **state) {
  char lib[128];
  (void)state;
  snprintf(lib, sizeof lib, "%s/lib", folder);
  const char *const its[] = {library, lib};
  for (size_t i = 0; i < CVY_COUNT(its); i++) {
    assert_int_equal(chmod(program, 0777), 0);
    check_not_run(program, program);
    assert_int_equal(chmod(its[i], 0777), 0);
    check_run(program);
    assert_int_equal(chmod(its[i], 0755), 0);
    assert_int_equal(chmod(program, 0755), 0);
    if (!is_root("another user's library")) continue;
    for (size_t k = 0; k < CVY_COUNT(levels); k++)
      assert_int_equal(chown(levels[k], ANOTHER, ANOTHER + 1), 0);
    assert_int_equal(chown(its[i], ANOTHER, ANOTHER + 1), 0);
    check_run(program);
    assert_int_equal(chmod(above, 0775), 0);
    check_not_run(program, above);
    assert_int_equal(chmod(its[i], 0775), 0);
    check_run(program);
    assert_int_equal(chown(its[i], ANOTHER, ANOTHER + 2), 0); /* another group */
    check_not_run(program, above);
    assert_int_equal(chmod(its[i], 0755), 0);
    assert_int_equal(chown(its[i], 0, 0), 0);
    assert_int_equal(chmod(above, 0755), 0);
    for (size_t k = 0; k < CVY_COUNT(levels); k++) assert_int_equal(chown(levels[k], 0, 0), 0);
  }
}

static void test_private_group(void **state) {
  (void)state;
  if (!is_root("another user's group")) return;
  assert_int_equal(chmod(folder, 0711), 0);
  for (size_t i = 0; i < CVY_COUNT(levels); i++) {
    assert_int_equal(chown(levels[i], ANOTHER, ANOTHER), 0);
    assert_int_equal(chmod(levels[i], 0775), 0);
  }
  check_not_run(program, above); /* root runs nothing of his */
  pretended = ANOTHER;
  check_run(program);
  assert_int_equal(chown(above, ANOTHER, ANOTHER + 1), 0);
  check_not_run(program, above);
  assert_int_equal(chown(above, 0, 0), 0); /* root's group is nobody's private one */
  check_not_run(program, above);
}

/* What a link leads to counts, and who could have made it lead to anything else. */
static void test_links(void **state) {
  char link[128], by_folder[160];
  (void)state;
  snprintf(link, sizeof link, "%s/links/convoy-worker", folder);
  cvy_file_parents(link);
  assert_int_equal(symlink("../upper/libexec/convoy-worker", link), 0);
  check_run(link);
  assert_int_equal(chmod(upper, 0777), 0);
  check_not_run(link, upper);
  assert_int_equal(chmod(upper, 0755), 0);
  *strrchr(link, '/') = 0;
  assert_int_equal(chmod(link, 0777), 0);
  snprintf(by_folder, sizeof by_folder, "%s/convoy-worker", link);
  check_not_run(by_folder, link);
  snprintf(by_folder, sizeof by_folder, "%s/link", folder);
  assert_int_equal(symlink("upper/libexec", by_folder), 0);
  strcat(by_folder, "/convoy-worker");
  check_run(by_folder);
}

/* The lane runs none of it, in a process of its own or in this one. */
static void test_lane(void **state) {
  char text[8400], *libexec = strdup(getenv("CONVOY_LIBEXEC"));
  int32_t count;
  (void)state;
  elsewhere = false;
  for (int32_t isolation = CONVOY_ISOLATION_PROCESS; isolation <= CONVOY_ISOLATION_NONE;
       isolation++) {
    cvy_open_options options = lane_options(isolation);
    for (int writable = 0; writable < 2; writable++) {
      snprintf(text, sizeof text, "ln -sf %s/convoy-worker %s/convoy-ocl.so %s", libexec, libexec,
               above);
      assert_int_equal(system(text), 0);
      assert_int_equal(chmod(above, writable ? 0777 : 0755), 0);
      setenv("CONVOY_LIBEXEC", above, 1);
      const convoy_status status = LANE->list(&options, NULL, 0, &count);
      setenv("CONVOY_LIBEXEC", libexec, 1);
      assert_int_equal(status, writable ? CONVOY_ERR_DEVICE : CONVOY_OK);
      if (writable) assert_sentence_has("/convoy-ocl.so is not run: ");
    }
  }
  free(libexec);
}

/* -------------------------------------------------------------------------------- privileged */

/* What counts in a privileged program whose caller has set all of this; 0: nothing. */
static int heeded(void) {
  static const char *const names[] = {"CONVOY_LIBEXEC",   "CONVOY_STATE_DIR", "CONVOY_CACHE_DIR",
                                      "CONVOY_TUNE_FILE", "CONVOY_ISOLATION", "XDG_STATE_HOME",
                                      "XDG_CACHE_HOME",   "XDG_CONFIG_HOME",  "HOME"};
  char path[4096];
  for (size_t i = 0; i < CVY_COUNT(names); i++) {
    if (setenv(names[i], "/of/the/caller", 1) || cvy_env(names[i])) return (int)i + 1;
  }
  if (cvy_state_path("", "", path, sizeof path) != CONVOY_ERR_NOT_FOUND) return 20;
  if (cvy_cache_path("", "", path, sizeof path) != CONVOY_ERR_NOT_FOUND) return 21;
  if (cvy_tune_path(path, sizeof path) != CONVOY_ERR_NOT_FOUND) return 22;
  if (!strstr(cvy_last_error(), "HOME are not heeded")) return 23;
  return cvy_libexec_folder(path, sizeof path) && strstr(path, "caller") ? 24 : 0;
}

/* Who is started finds an empty environment. */
static int passes_on(void) {
  char shell[] = "/bin/sh", flag[] = "-c", line[] = "exit ${HOME:+3}", how[64];
  char *const argv[] = {shell, flag, line, NULL};
  cvy_process process;
  const int null = open("/dev/null", O_RDWR);
  setenv("HOME", "/of/the/caller", 1);
  if (cvy_process_start(argv[0], argv, null, &process)) return 31;
  if (!cvy_process_ended(&process, 10, how, sizeof how)) return 32;
  return strcmp(how, "exited with status 0") ? 33 : 0;
}

static int in_child(int (*part)(void)) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) _exit(part());
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int heeds_as_usual(void) {
  privileged = false;
  return heeded() != 1 || passes_on() != 33;
}

static void test_environment_of_a_privileged_program(void **state) {
  (void)state;
  assert_int_equal(in_child(heeds_as_usual), 0);
  privileged = true;
  assert_int_equal(in_child(heeded), 0);
  assert_int_equal(in_child(passes_on), 0);
}

/* This program with root's rights, called by somebody else under a name of his choice. */
static int call_with_more_rights(void) {
  char name[] = "/of/the/caller/program", word[] = "inside", *argv[] = {name, word, NULL};
  if (setgid(ANOTHER) || setuid(ANOTHER)) return 40;
  execv(program, argv);
  return 41;
}

static bool gives_rights(void) {
  struct statvfs about;
  assert_int_equal(statvfs(folder, &about), 0);
  if (!(about.f_flag & ST_NOSUID) && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) return true;
  print_message("%s or this process is nosuid: a setuid program is not tried\n", folder);
  return false;
}

static void test_a_program_with_more_rights(void **state) {
  char command[800];
  (void)state;
  if (!is_root("a setuid program") || !gives_rights()) return;
  snprintf(command, sizeof command, "cp /proc/%d/exe %s && chmod 711 %s %s %s && chmod 4711 %s",
           (int)getpid(), program, folder, upper, above, program);
  assert_int_equal(system(command), 0);
  assert_int_equal(in_child(call_with_more_rights), 0);
}

/* The library is in this very program, which its caller says is another. */
static int inside(void) {
  char path[4096];
  if (!cvy_is_privileged()) return 50;
  if (heeded()) return heeded();
  if (!cvy_libexec_folder(path, sizeof path)) return 51;
  if (strncmp(path, "/tmp/convoy-trust-", 18)) return 52;
  return passes_on();
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "inside") == 0) _exit(inside());
#define WITH_PROGRAM(test) cmocka_unit_test_setup_teardown(test, make_program, remove_program)
  static const struct CMUnitTest tests[] = {
      WITH_PROGRAM(test_nothing_that_others_may_write_to),
      WITH_PROGRAM(test_nothing_of_others),
      WITH_PROGRAM(test_what_goes_for_the_library),
      WITH_PROGRAM(test_private_group),
      WITH_PROGRAM(test_links),
      WITH_PROGRAM(test_lane),
      WITH_PROGRAM(test_environment_of_a_privileged_program),
      WITH_PROGRAM(test_a_program_with_more_rights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
