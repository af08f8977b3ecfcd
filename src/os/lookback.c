/* What the system has written down about a boot that is over. Two sources, of which a machine may have
 * either, both or none: the record of logins (wtmp), where starts and orderly shutdowns stand too, and
 * the times at which files of the system were last changed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utmp.h>

#include "os/os.h"

/* Seconds. A clock that is set right only after the start stamps what is written before too early. */
enum { CLOCK_ERROR = 300 };

static void note_alive(cvy_past_boot *boot, int64_t time) {
  if (time > boot->alive && time < boot->until - CLOCK_ERROR) boot->alive = time;
}

/* ------------------------------------------------------------------------------------- wtmp */

enum {
  MOST_RECORDS = 1024
}; /* the last ones; a machine that is started every day writes ten a day */

static struct utmp record_at(const void *records, int index) {
  struct utmp record;
  memcpy(&record, (const char *)records + (size_t)index * sizeof record, sizeof record);
  return record;
}

static int64_t time_of(const struct utmp *record) {
  return (uint32_t)record->ut_tv.tv_sec;
}

static bool is_start(const struct utmp *record) {
  return record->ut_type == BOOT_TIME;
}

static bool is_shutdown(const struct utmp *record) {
  return record->ut_type == RUN_LVL && strncmp(record->ut_user, "shutdown", UT_NAMESIZE) == 0;
}

/* The first record behind the boot's start. In the order of the file: the clock may have been wrong. */
static int first_of(const cvy_past_boot *boot, const void *records, int count) {
  int first = 0;
  for (int i = 0; i < count; i++) {
    const struct utmp record = record_at(records, i);
    if (time_of(&record) <= boot->since && (is_start(&record) || is_shutdown(&record)))
      first = i + 1;
  }
  return first;
}

void cvy_boot_read_logins(const void *records, size_t bytes, cvy_past_boot *boot) {
  const int count = (int)(bytes / sizeof(struct utmp));
  for (int i = first_of(boot, records, count); i < count; i++) {
    const struct utmp record = record_at(records, i);
    const int64_t time = time_of(&record);
    if (is_start(&record) && time < boot->until) boot->until = time;
    if (is_shutdown(&record)) boot->orderly = time >= boot->seen - CLOCK_ERROR;
    if (is_start(&record) || is_shutdown(&record)) return;
    note_alive(boot, time);
  }
}

static void look_at_logins(const char *root, cvy_past_boot *boot) {
  char path[4096];
  struct stat about;
  snprintf(path, sizeof path, "%s/var/log/wtmp", root);
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return;
  struct utmp *records = malloc(MOST_RECORDS * sizeof *records);
  if (records && fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
    const off_t count = about.st_size / (off_t)sizeof *records;
    const off_t skipped = count > MOST_RECORDS ? count - MOST_RECORDS : 0;
    const ssize_t got =
        pread(fd, records, MOST_RECORDS * sizeof *records, skipped * (off_t)sizeof *records);
    if (got > 0) cvy_boot_read_logins(records, (size_t)got, boot);
  }
  free(records);
  close(fd);
}

/* ------------------------------------------------------------------------------------ files */

static bool is_any(const char *name) {
  return name[0] != '.';
}

/* When the file itself or what the system knows about it last changed: no program can set that time. */
static void look_at_file(void *user, const char *path, int index, int count) {
  struct stat about;
  (void)index;
  (void)count;
  if (lstat(path, &about) == 0) note_alive(user, about.st_ctim.tv_sec);
}

static void look_at_folder(void *user, const char *path, int index, int count) {
  (void)index;
  (void)count;
  cvy_folder_visit(path, is_any, look_at_file, user);
}

static void look_at_files(const char *root, cvy_past_boot *boot) {
  static const char *const folders[] = {"/var/log", "/var/lib/systemd/timers",
                                        "/var/lib/systemd/timesync"};
  char path[4096];
  for (size_t i = 0; i < CVY_COUNT(folders); i++) {
    snprintf(path, sizeof path, "%s%s", root, folders[i]);
    look_at_folder(boot, path, 0, 0);
  }
  snprintf(path, sizeof path, "%s/var/log/journal", root);
  cvy_folder_visit(path, is_any, look_at_folder, boot);
}

void cvy_boot_look_back(const char *root, cvy_past_boot *boot) {
  boot->alive = boot->seen;
  boot->orderly = false;
  look_at_logins(root, boot);
  if (!boot->orderly) look_at_files(root, boot);
}
