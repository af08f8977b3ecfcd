/* Reading, changing and replacing the table under a lock. */
#include "core/faults/fault_file.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/faults/crashes.h"
#include "core/state/state_file.h"
#include "os/os.h"

static convoy_status read_file(const cvy_state_file *at, cvy_fault_table *out) {
  char *text;
  out->count = out->skipped = 0;
  convoy_status status = cvy_state_file_read(at, &text);
  if (text) cvy_fault_table_parse(text, out);
  free(text);
  if (out->skipped) {
    cvy_log(CONVOY_LOG_WARNING, "%s: %d places of faults, %d lines are none and ignored", at->file,
            (int)out->count, (int)out->skipped);
  }
  return status;
}

static convoy_status write_file(const cvy_state_file *at, const cvy_fault_table *table) {
  char *text = malloc(CVY_FAULT_TABLE_TEXT);
  if (!text) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for the table of faults");
  cvy_fault_table_format(table, text, CVY_FAULT_TABLE_TEXT);
  convoy_status status = cvy_file_write(at->file, text, strlen(text));
  free(text);
  return status;
}

/* At the time of the newest, so that what others have written meanwhile is not taken back to
 * theirs. */
static void add_unwritten(cvy_fault_table *to, const cvy_fault_table *mine) {
  for (int32_t i = 0; i < mine->count; i++) {
    cvy_fault_entry each = mine->list[i];
    each.count = each.unwritten;
    each.unwritten = 0;
    each.last = mine->list[mine->count - 1].last;
    if (each.count > 0) cvy_fault_table_add(to, &each);
  }
}

/* Changes the file while no other process does: adds what it lacks of `mine`, or forgets `device`'s
 * where `mine` is NULL. `out` gets what the file has then. */
static convoy_status change(const cvy_fault_table *mine, const char *device, cvy_fault_table *out) {
  cvy_state_file at;
  convoy_status status = cvy_state_file_find("faults", &at);
  if (status) return CONVOY_ERR_IO;
  int lock = cvy_file_lock(at.lock, CVY_STATE_FILE_LOCK_SECONDS);
  if (lock < 0) return CONVOY_ERR_IO;
  status = read_file(&at, out);
  if (mine)
    add_unwritten(out, mine);
  else
    cvy_fault_table_forget(out, device);
  if (!status) status = write_file(&at, out);
  cvy_file_unlock(lock);
  return status;
}

int32_t cvy_fault_limit(void) {
  int64_t limit = CVY_FAULT_LIMIT;
  cvy_env_int("CONVOY_FAULT_LIMIT", 0, CVY_FAULT_LIMIT_MOST,
              &limit); /* else cvy_open has refused it */
  return (int32_t)limit;
}

/* Where there is no place for a table nothing is recorded. */
static convoy_status load(cvy_fault_table *out) {
  cvy_state_file at;
  out->count = 0;
  convoy_status status = cvy_state_file_find("faults", &at);
  if (status) return status == CONVOY_ERR_NOT_FOUND ? CONVOY_OK : status;
  return read_file(&at, out);
}

void cvy_fault_table_load(cvy_fault_table *out) {
  if (load(out)) {
    cvy_log(CONVOY_LOG_WARNING, "the table of faults is not read: %s", cvy_last_error());
  }
}

/* A disk that is full stays full: reported once. */
static void report_unwritten(void) {
  static atomic_bool reported;
  if (atomic_exchange(&reported, true)) return;
  cvy_log(CONVOY_LOG_WARNING, "faults are not recorded beyond this process: %s", cvy_last_error());
}

void cvy_fault_table_note(cvy_fault_table *mine, const cvy_fault_entry *what) {
  cvy_fault_entry added = *what;
  added.unwritten = what->count;
  cvy_fault_table_add(mine, &added);
  cvy_fault_table *all = malloc(sizeof *all);
  convoy_status status = all ? change(mine, NULL, all)
                             : cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read the table");
  if (status)
    report_unwritten();
  else
    *mine = *all;
  free(all);
}

convoy_status cvy_fault_table_text(const char *device, char *text, size_t size) {
  convoy_status named = cvy_env_check_names(); /* what is done about faults depends on them */
  if (named) return named;
  cvy_fault_table *table = malloc(sizeof *table);
  if (!table) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read the table");
  convoy_status status = load(table);
  cvy_fault_table_describe(table, device, cvy_date(), cvy_fault_limit(), text, size);
  free(table);
  if (status) return status;
  size_t used = strlen(text);
  cvy_text rest = cvy_text_in(text + used, size - used);
  cvy_crashes_describe(device, &rest);
  return CONVOY_OK;
}

convoy_status cvy_fault_table_clear(const char *device) {
  cvy_fault_table *left = malloc(sizeof *left);
  if (!left) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read the table");
  convoy_status status = change(NULL, device, left);
  free(left);
  cvy_crashes_forget(device);
  return status;
}
