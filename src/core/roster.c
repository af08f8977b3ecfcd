/* The roster of devices. Its text is input like any other: nothing in it is trusted. */
#include "core/roster.h"

#include <string.h>

#include "core/state/fields.h"

static const char version_line[] = "convoy-devices 1\n";

/* -------------------------------------------------------------------------------- the list */

/* As it would stand in the file. */
static void make(cvy_known *out, const char *machine, const convoy_device_info *info,
                 const char *day) {
  cvy_field_copy(out->machine, sizeof out->machine, machine);
  cvy_field_copy(out->id, sizeof out->id, info->id);
  cvy_field_copy(out->name, sizeof out->name, info->name);
  cvy_field_copy(out->platform, sizeof out->platform, info->platform);
  cvy_field_copy(out->driver, sizeof out->driver, info->driver);
  cvy_field_copy(out->first, sizeof out->first, day);
  cvy_field_copy(out->last, sizeof out->last, day);
}

/* A device that got another driver is the same one. */
static bool is_same(const cvy_known *a, const cvy_known *b) {
  return strcmp(a->machine, b->machine) == 0 && strcmp(a->id, b->id) == 0 &&
         strcmp(a->name, b->name) == 0 && strcmp(a->platform, b->platform) == 0;
}

static int32_t oldest(const cvy_roster *roster) {
  int32_t found = 0;
  for (int32_t i = 1; i < roster->count; i++) {
    if (strcmp(roster->list[i].last, roster->list[found].last) < 0) found = i;
  }
  return found;
}

bool cvy_roster_see(cvy_roster *roster, const char *machine, const convoy_device_info *info,
                    const char *day) {
  cvy_known seen;
  make(&seen, machine, info, day);
  int32_t at = 0;
  while (at < roster->count && !is_same(&roster->list[at], &seen)) at++;
  if (at < roster->count) {
    const cvy_known *before = &roster->list[at];
    if (strcmp(before->driver, seen.driver) == 0 && strcmp(before->last, seen.last) == 0)
      return false;
    memcpy(seen.first, before->first, sizeof seen.first);
  } else if (roster->count == CVY_ROSTER) {
    at = oldest(roster);
  } else {
    roster->count++;
  }
  roster->list[at] = seen;
  return true;
}

static bool is_of(const cvy_known *known, const char *machine) {
  char written[sizeof known->machine];
  cvy_field_copy(written, sizeof written, machine);
  return strcmp(known->machine, written) == 0;
}

const cvy_known *cvy_roster_find(const cvy_roster *roster, const char *machine,
                                 const char *wanted) {
  const cvy_known *found = NULL;
  char name[sizeof found->name];
  cvy_field_copy(name, sizeof name, wanted);
  for (int32_t i = 0; i < roster->count; i++) {
    const cvy_known *each = &roster->list[i];
    if (!is_of(each, machine)) continue;
    if (!cvy_same(each->id, name) && !cvy_has(each->name, name)) continue;
    if (!found || strcmp(each->last, found->last) > 0) found = each;
  }
  return found;
}

bool cvy_known_gone(const cvy_known *known, const char *machine, const cvy_facts *there,
                    int32_t count) {
  bool name = false, id = false;
  for (int32_t i = 0; i < count; i++) {
    cvy_known seen;
    make(&seen, machine, &there[i].info, known->last);
    name = name || strcmp(known->name, seen.name) == 0;
    id = id || strcmp(known->id, seen.id) == 0;
  }
  return is_of(known, machine) && !(name && id);
}

/* -------------------------------------------------------------------------------- the text */

enum { MACHINE, ID, NAME, PLATFORM, DRIVER, FIRST, LAST, FIELDS };

static bool parse_known(char *line, cvy_known *out) {
  char *field[FIELDS];
  if (!cvy_fields_cut(line, field, FIELDS)) return false;
  const struct {
    char *to;
    size_t size;
  } places[FIELDS] = {
      [MACHINE] = {out->machine, sizeof out->machine},
      [ID] = {out->id, sizeof out->id},
      [NAME] = {out->name, sizeof out->name},
      [PLATFORM] = {out->platform, sizeof out->platform},
      [DRIVER] = {out->driver, sizeof out->driver},
      [FIRST] = {out->first, sizeof out->first},
      [LAST] = {out->last, sizeof out->last},
  };
  for (int i = 0; i < FIELDS; i++) {
    if (!cvy_field_take(places[i].to, places[i].size, field[i])) return false;
  }
  return true;
}

void cvy_roster_parse(const char *text, cvy_roster *out) {
  char line[1024];
  const char *at;
  out->count = 0;
  out->skipped = !cvy_lines_begin(text, version_line, &at);
  while (cvy_lines_next(&at, line, sizeof line)) {
    bool kept = out->count < CVY_ROSTER && parse_known(line, &out->list[out->count]);
    out->count += kept;
    out->skipped += !kept;
  }
}

void cvy_roster_format(const cvy_roster *roster, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  cvy_text_add(&out, "%s", version_line);
  for (int32_t i = 0; i < roster->count; i++) {
    const cvy_known *each = &roster->list[i];
    cvy_text_add(&out, "%s | %s | %s | %s | %s | %s | %s\n", each->machine, each->id, each->name,
                 each->platform, each->driver, each->first, each->last);
  }
}
