/* Reading, changing and replacing the record under a lock. */
#include "core/strikefile.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/downs.h"
#include "core/statefile.h"
#include "os/os.h"

static convoy_status read_file(const cvy_statefile *at, cvy_strikes *out) {
  char *text;
  out->count = out->skipped = 0;
  const convoy_status status = cvy_statefile_read(at, &text);
  if (text) cvy_strikes_parse(text, out);
  free(text);
  if (out->skipped) {
    cvy_log(CONVOY_LOG_WARNING, "%s: %d places of faults, %d lines are none and ignored", at->file,
            (int)out->count, (int)out->skipped);
  }
  return status;
}

static convoy_status write_file(const cvy_statefile *at, const cvy_strikes *strikes) {
  char *text = malloc(CVY_STRIKES_TEXT);
  if (!text) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for the record of faults");
  cvy_strikes_format(strikes, text, CVY_STRIKES_TEXT);
  convoy_status status = cvy_file_write(at->file, text, strlen(text));
  free(text);
  return status;
}

/* At the time of the newest, so that what others have written meanwhile is not taken back to theirs. */
static void add_unwritten(cvy_strikes *to, const cvy_strikes *mine) {
  for (int32_t i = 0; i < mine->count; i++) {
    cvy_strike each = mine->list[i];
    each.count = each.unwritten;
    each.unwritten = 0;
    each.last = mine->list[mine->count - 1].last;
    if (each.count > 0) cvy_strikes_add(to, &each);
  }
}

/* Changes the file while nobody else does: adds what it lacks of `mine`, or forgets `device`'s where
 * `mine` is NULL. `out` gets what the file has then. */
static convoy_status change(const cvy_strikes *mine, const char *device, cvy_strikes *out) {
  cvy_statefile at;
  convoy_status status = cvy_statefile_find("faults", &at);
  if (status) return CONVOY_ERR_IO;
  int lock = cvy_file_lock(at.lock, CVY_STATEFILE_LOCK_SECONDS);
  if (lock < 0) return CONVOY_ERR_IO;
  status = read_file(&at, out);
  if (mine)
    add_unwritten(out, mine);
  else
    cvy_strikes_forget(out, device);
  if (!status) status = write_file(&at, out);
  cvy_file_unlock(lock);
  return status;
}

int32_t cvy_strike_limit(void) {
  int64_t limit = CVY_STRIKE_LIMIT;
  cvy_env_int("CONVOY_STRIKE_LIMIT", 0, CVY_STRIKE_LIMIT_MOST,
              &limit); /* else cvy_open has refused it */
  return (int32_t)limit;
}

/* Where there is no place for a record nothing is recorded. */
static convoy_status load(cvy_strikes *out) {
  cvy_statefile at;
  out->count = 0;
  const convoy_status status = cvy_statefile_find("faults", &at);
  if (status) return status == CONVOY_ERR_NOT_FOUND ? CONVOY_OK : status;
  return read_file(&at, out);
}

void cvy_strikes_load(cvy_strikes *out) {
  if (load(out)) {
    cvy_log(CONVOY_LOG_WARNING, "the record of faults is not read: %s", cvy_last_error());
  }
}

/* A disk that is full stays full: told once. */
static void tell_unwritten(void) {
  static atomic_bool told;
  if (atomic_exchange(&told, true)) return;
  cvy_log(CONVOY_LOG_WARNING, "faults are not recorded beyond this process: %s", cvy_last_error());
}

void cvy_strikes_note(cvy_strikes *mine, const cvy_strike *what) {
  cvy_strike added = *what;
  added.unwritten = what->count;
  cvy_strikes_add(mine, &added);
  cvy_strikes *all = malloc(sizeof *all);
  convoy_status status = all ? change(mine, NULL, all)
                             : cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read the record");
  if (status)
    tell_unwritten();
  else
    *mine = *all;
  free(all);
}

convoy_status cvy_record_text(const char *device, char *text, size_t size) {
  cvy_strikes *strikes = malloc(sizeof *strikes);
  if (!strikes) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read the record");
  const convoy_status status = load(strikes);
  cvy_strikes_describe(strikes, device, cvy_date(), cvy_strike_limit(), text, size);
  free(strikes);
  if (status) return status;
  size_t used = strlen(text);
  cvy_text rest = cvy_text_in(text + used, size - used);
  cvy_downs_describe(device, &rest);
  return CONVOY_OK;
}

convoy_status cvy_record_clear(const char *device) {
  cvy_strikes *left = malloc(sizeof *left);
  if (!left) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to read the record");
  convoy_status status = change(NULL, device, left);
  free(left);
  cvy_downs_forget(device);
  return status;
}
