/* Reading the roster, and changing and replacing it under a lock. */
#include "core/rosterfile.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/statefile.h"
#include "os/os.h"

/* Which machine and day it is. */
typedef struct here {
  char machine[64], day[24];
} here;

static here find_here(void) {
  here now;
  cvy_machine_id(now.machine, sizeof(now.machine));
  cvy_calendar(now.day, sizeof(now.day));
  now.day[sizeof("2026-11-23") - 1] = '\0';
  return now;
}

/* What is remembered, to be freed; NULL with a sentence if memory is lacking or it cannot be read. */
static cvy_roster *load(const cvy_statefile *at) {
  char *text;
  if (cvy_statefile_read(at, &text)) return NULL;
  cvy_roster *roster = malloc(sizeof(*roster));
  if (roster) {
    roster->count = roster->skipped = 0;
    if (text) cvy_roster_parse(text, roster);
  } else {
    cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %zu bytes", sizeof(*roster));
  }
  free(text);
  return roster;
}

static bool see_all(cvy_roster *roster, const cvy_facts *facts, int32_t count) {
  const here now = find_here();
  bool news = false;
  for (int32_t i = 0; i < count; i++)
    news |= cvy_roster_see(roster, now.machine, &facts[i].info, now.day);
  return news;
}

static convoy_status write_file(const cvy_statefile *at, const cvy_roster *roster) {
  char *text = malloc(CVY_ROSTER_TEXT);
  if (!text) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for %zu bytes", CVY_ROSTER_TEXT);
  cvy_roster_format(roster, text, CVY_ROSTER_TEXT);
  const convoy_status status = cvy_file_write(at->file, text, strlen(text));
  free(text);
  return status;
}

/* Another process may have changed it meanwhile, so it is read again. */
static convoy_status change(const cvy_statefile *at, const cvy_facts *facts, int32_t count) {
  const int lock = cvy_file_lock(at->lock, CVY_STATEFILE_LOCK_SECONDS);
  if (lock < 0) return CONVOY_ERR_IO;
  cvy_roster *roster = load(at);
  convoy_status status = roster ? CONVOY_OK : CONVOY_ERR_IO;
  if (roster && roster->skipped) {
    cvy_log(CONVOY_LOG_WARNING, "%s: %d devices, %d lines are none and left out", at->file,
            (int)roster->count, (int)roster->skipped);
  }
  if (roster && (see_all(roster, facts, count) || roster->skipped)) status = write_file(at, roster);
  free(roster);
  cvy_file_unlock(lock);
  return status;
}

static convoy_status note(const cvy_facts *facts, int32_t count) {
  cvy_statefile at;
  convoy_status status = cvy_statefile_find("devices", &at);
  if (status) return status;
  cvy_roster *roster = load(&at);
  if (!roster) return CONVOY_ERR_IO;
  const bool news = see_all(roster, facts, count) || roster->skipped;
  free(roster);
  return news ? change(&at, facts, count) : CONVOY_OK;
}

/* A folder that cannot be written stays so: told once. */
void cvy_roster_note(const cvy_facts *facts, int32_t count) {
  static atomic_bool told;
  if (count == 0 || !note(facts, count) || atomic_exchange(&told, true)) return;
  cvy_log(CONVOY_LOG_WARNING,
          "the devices of this machine are not remembered, so that the name of one that is gone "
          "later counts as a mistake: %s",
          cvy_last_error());
}

bool cvy_roster_recall(const char *wanted, cvy_known *out) {
  cvy_statefile at;
  cvy_roster *roster = cvy_statefile_find("devices", &at) ? NULL : load(&at);
  const here now = find_here();
  const cvy_known *found = roster ? cvy_roster_find(roster, now.machine, wanted) : NULL;
  if (found) *out = *found;
  free(roster);
  return found != NULL;
}

void cvy_roster_name_gone(const cvy_facts *there, int32_t count, cvy_text *text) {
  cvy_statefile at;
  cvy_roster *roster = cvy_statefile_find("devices", &at) ? NULL : load(&at);
  const here now = find_here();
  const char *comma = "";
  for (int32_t i = 0; roster && i < roster->count; i++) {
    const cvy_known *each = &roster->list[i];
    if (!cvy_known_gone(each, now.machine, there, count)) continue;
    cvy_text_add(text, "%s%s (%s) until %s", comma, each->id, each->name, each->last);
    comma = ", ";
  }
  free(roster);
}
