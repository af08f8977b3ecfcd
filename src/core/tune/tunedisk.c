/* Reading tuning files, and changing the user's under a lock. */
#include "core/tune/tunedisk.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"

#define LOCK_SECONDS 5.0 /* no process holds it for longer than a write takes */

/* More than 50,000 records, which would be of 100 networks. */
#define MOST_BYTES ((size_t)8 << 20)

/* What a file has; what is no record is reported in one line. */
static convoy_status read_file(const char *path, cvy_file_kind kind, cvy_records *out) {
  size_t count;
  char *text;
  *out = (cvy_records){0};
  convoy_status status = cvy_file_read(path, kind, MOST_BYTES, &text, &count);
  if (status) return status == CONVOY_ERR_NOT_FOUND ? CONVOY_OK : status;
  if (count) status = cvy_records_parse(text, out);
  free(text);
  if (status || out->skipped) {
    cvy_log(CONVOY_LOG_WARNING, "%s: %d tuning records, %d lines skipped%s", path, (int)out->count,
            (int)out->skipped, status ? ", memory ran out" : "");
  }
  return status;
}

static void tell_unread(void) {
  cvy_log(CONVOY_LOG_WARNING, "tuning records are not read: %s", cvy_last_error());
}

void cvy_records_load(cvy_records *out) {
  char path[4096];
  *out = (cvy_records){0};
  convoy_status status = cvy_tune_path(path, sizeof(path));
  if (status == CONVOY_ERR_NOT_FOUND) return; /* nothing was to be read */
  if (status || read_file(path, CVY_FILE_TEXT, out)) tell_unread();
}

static void add_shipped(void *user, const char *path, int index, int count) {
  (void)index;
  (void)count;
  cvy_records *all = user, read;
  if (read_file(path, CVY_FILE_INSTALLED, &read)) tell_unread();
  for (int32_t i = 0; i < read.count; i++) {
    if (cvy_records_put(all, &read.list[i])) break;
  }
  cvy_records_free(&read);
}

static bool is_shipped(const char *name) {
  const char *end = strrchr(name, '.');
  return end && strcmp(end, ".txt") == 0;
}

void cvy_records_load_shipped(cvy_records *out) {
  char folder[4000];
  *out = (cvy_records){0};
  if (!cvy_share_folder("tune", folder, sizeof(folder))) return;
  if (cvy_folder_visit(folder, is_shipped, add_shipped, out)) tell_unread();
}

/* A file that has something, but no record, is not ours. */
static convoy_status read_own(const char *path, cvy_records *out) {
  convoy_status status = read_file(path, CVY_FILE_TEXT, out);
  if (status || !out->skipped || out->count) return status;
  return cvy_fail(CONVOY_ERR_IO, "%s is there and no tuning file; it is left as it is", path);
}

convoy_status cvy_records_check(void) {
  char path[4000];
  cvy_records all = {0};
  if (cvy_tune_path(path, sizeof(path))) return CONVOY_ERR_IO;
  convoy_status status = read_own(path, &all);
  cvy_records_free(&all);
  return status;
}

/* One that grew too large to be read would lose all that is in it. */
static convoy_status write_file(const char *path, const char *text) {
  size_t bytes = strlen(text);
  if (bytes <= MOST_BYTES) return cvy_file_write(path, text, bytes);
  return cvy_fail(CONVOY_ERR_IO, "%s would have %zu bytes; %zu are read at most", path, bytes,
                  MOST_BYTES);
}

static convoy_status change(const char *path, const cvy_record *record) {
  cvy_records all;
  convoy_status status = read_own(path, &all);
  if (!status) status = cvy_records_put(&all, record);
  char *text = status ? NULL : cvy_records_format(&all);
  if (text) {
    status = write_file(path, text);
  } else if (!status) {
    status = cvy_fail(CONVOY_ERR_MEMORY, "no memory for %d tuning records", (int)all.count);
  }
  free(text);
  cvy_records_free(&all);
  return status;
}

convoy_status cvy_records_save(const cvy_record *record) {
  char path[4000], lock_path[4096];
  if (cvy_tune_path(path, sizeof(path))) return CONVOY_ERR_IO;
  cvy_text text = cvy_text_in(lock_path, sizeof(lock_path));
  cvy_text_add(&text, "%s.lock", path);
  int lock = cvy_file_lock(lock_path, LOCK_SECONDS);
  if (lock < 0) return CONVOY_ERR_IO;
  convoy_status status = change(path, record);
  cvy_file_unlock(lock);
  return status;
}
