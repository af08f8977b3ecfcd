/* The table of faults as data and as text. The text is input like any other: nothing in it is
 * trusted. */
#include "core/faults/fault_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/fields.h"

static const char version_line[] = "convoy-faults 1\n";
static const char *const level_names[CVY_LEVELS] = {"tuned", "conservative", "CPU"};

/* ------------------------------------------------------------------------------- the list */

static void copy_entry(cvy_fault_entry *to, const cvy_fault_entry *from) {
  cvy_field_copy(to->device, sizeof to->device, from->device);
  cvy_field_copy(to->driver, sizeof to->driver, from->driver);
  cvy_field_copy(to->algorithm, sizeof to->algorithm, from->algorithm);
  cvy_field_copy(to->shape_class, sizeof to->shape_class, from->shape_class);
  cvy_field_copy(to->example, sizeof to->example,
                 *from->example ? from->example : from->shape_class);
  cvy_field_copy(to->reason, sizeof to->reason, from->reason);
  to->level = from->level;
  to->count = from->count;
  to->unwritten = from->unwritten;
  to->last = from->last;
}

static bool same_place(const cvy_fault_entry *a, const cvy_fault_entry *b) {
  return a->level == b->level && strcmp(a->device, b->device) == 0 &&
         strcmp(a->driver, b->driver) == 0 && strcmp(a->algorithm, b->algorithm) == 0 &&
         strcmp(a->shape_class, b->shape_class) == 0;
}

/* One of the future was written before the clock was set back. */
static bool is_forgiven(const cvy_fault_entry *entry, int64_t now) {
  return now - entry->last >= CVY_FAULT_QUIET || entry->last - now >= CVY_FAULT_QUIET;
}

static void drop(cvy_fault_table *table, int32_t index) {
  table->list[index] = table->list[--table->count];
}

/* A clock that was set back must not keep a fault for longer than a day from now. */
static void forgive(cvy_fault_table *table, int64_t now) {
  for (int32_t i = table->count - 1; i >= 0; i--) {
    cvy_fault_entry *each = &table->list[i];
    if (each->last > now) each->last = now;
    if (is_forgiven(each, now)) drop(table, i);
  }
}

static int32_t sum_of(int32_t a, int32_t b) {
  int32_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT32_MAX : sum;
}

static int32_t oldest(const cvy_fault_table *table) {
  int32_t found = 0;
  for (int32_t i = 1; i < table->count; i++) {
    if (table->list[i].last < table->list[found].last) found = i;
  }
  return found;
}

void cvy_fault_table_add(cvy_fault_table *table, const cvy_fault_entry *what) {
  cvy_fault_entry added;
  copy_entry(&added, what);
  forgive(table, added.last);
  for (int32_t i = 0; i < table->count; i++) {
    if (!same_place(&table->list[i], &added)) continue;
    added.count = sum_of(added.count, table->list[i].count);
    added.unwritten = sum_of(added.unwritten, table->list[i].unwritten);
    drop(table, i);
    break;
  }
  if (table->count == CVY_FAULT_ENTRIES) drop(table, oldest(table));
  table->list[table->count++] = added;
}

static bool is_named(const cvy_fault_entry *entry, const char *device) {
  return !device || strstr(entry->device, device);
}

void cvy_fault_table_forget(cvy_fault_table *table, const char *device) {
  for (int32_t i = table->count - 1; i >= 0; i--) {
    if (is_named(&table->list[i], device)) drop(table, i);
  }
}

/* ------------------------------------------------------------------------------ levels */

static bool counts_for(const cvy_fault_entry *entry, const cvy_fault_entry *place, int64_t now) {
  return !is_forgiven(entry, now) && strcmp(entry->device, place->device) == 0 &&
         strcmp(entry->driver, place->driver) == 0 &&
         (strcmp(entry->shape_class, "*") == 0 ||
          strcmp(entry->shape_class, place->shape_class) == 0);
}

static cvy_level level_of(const cvy_fault_table *table, const cvy_fault_entry *place, int64_t now,
                          int32_t limit, const cvy_fault_entry **why) {
  int64_t counts[CVY_LEVELS] = {0};
  *why = NULL;
  for (int32_t i = 0; i < table->count; i++) {
    const cvy_fault_entry *each = &table->list[i];
    if (!counts_for(each, place, now)) continue;
    counts[each->level] += each->count;
    if (!*why || each->last > (*why)->last) *why = each;
  }
  if (counts[CVY_LEVEL_CONSERVATIVE] >= limit) return CVY_LEVEL_CPU;
  if (counts[CVY_LEVEL_TUNED] >= limit) return CVY_LEVEL_CONSERVATIVE;
  *why = NULL;
  return CVY_LEVEL_TUNED;
}

cvy_level cvy_fault_table_level(const cvy_fault_table *table, const char *device,
                                const char *driver, const char *shape_class, int64_t now,
                                int32_t limit, const cvy_fault_entry **why) {
  cvy_fault_entry place;
  cvy_field_copy(place.device, sizeof place.device, device);
  cvy_field_copy(place.driver, sizeof place.driver, driver);
  cvy_field_copy(place.shape_class, sizeof place.shape_class, shape_class);
  return level_of(table, &place, now, limit, why);
}

/* -------------------------------------------------------------------------------- the text */

enum { DEVICE, DRIVER, ALGORITHM, EXAMPLE, LEVEL, COUNT, LAST, REASON, FIELDS };

static bool parse_number(const char *text, int64_t high, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  *out = value;
  return end != text && *end == '\0' && !errno && value >= 0 && value <= high;
}

static bool parse_level(const char *text, cvy_level *out) {
  for (int level = CVY_LEVEL_TUNED; level < CVY_LEVEL_CPU; level++) {
    *out = (cvy_level)level;
    if (strcmp(text, level_names[level]) == 0) return true;
  }
  return false;
}

/* What is no example is the name of a class, or the "*" for all. */
static bool find_class(const char *example, char *shape_class, size_t size) {
  return cvy_class_of_example(example, shape_class, size) ||
         cvy_field_take(shape_class, size, example);
}

static bool parse_entry(char *line, cvy_fault_entry *out) {
  char *field[FIELDS];
  int64_t count;
  if (!cvy_fields_cut(line, field, FIELDS)) return false;
  const struct {
    int field;
    char *to;
    size_t size;
  } texts[] = {
      {DEVICE, out->device, sizeof out->device},
      {DRIVER, out->driver, sizeof out->driver},
      {ALGORITHM, out->algorithm, sizeof out->algorithm},
      {EXAMPLE, out->example, sizeof out->example},
      {REASON, out->reason, sizeof out->reason},
  };
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    if (!cvy_field_take(texts[i].to, texts[i].size, field[texts[i].field])) return false;
  }
  if (!find_class(out->example, out->shape_class, sizeof out->shape_class) ||
      !parse_level(field[LEVEL], &out->level) || !parse_number(field[COUNT], INT32_MAX, &count) ||
      !parse_number(field[LAST], INT64_MAX / 2, &out->last)) {
    return false;
  }
  out->count = (int32_t)count;
  out->unwritten = 0;
  return true;
}

void cvy_fault_table_parse(const char *text, cvy_fault_table *out) {
  char line[1024];
  const char *at;
  out->count = 0;
  out->skipped = !cvy_lines_begin(text, version_line, &at);
  while (cvy_lines_next(&at, line, sizeof line)) {
    bool kept = out->count < CVY_FAULT_ENTRIES && parse_entry(line, &out->list[out->count]);
    out->count += kept;
    out->skipped += !kept;
  }
}

void cvy_fault_table_format(const cvy_fault_table *table, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  cvy_text_add(&out, "%s", version_line);
  for (int32_t i = 0; i < table->count; i++) {
    const cvy_fault_entry *each = &table->list[i];
    cvy_text_add(&out, "%s | %s | %s | %s | %s | %d | %" PRId64 " | %s\n", each->device,
                 each->driver, each->algorithm, each->example, level_names[each->level],
                 (int)each->count, each->last, each->reason);
  }
}

/* -------------------------------------------------------------------------------- for people */

static void describe(const cvy_fault_table *table, const cvy_fault_entry *each, int64_t now,
                     int32_t limit, char *line, size_t size) {
  static const char *const meaning[CVY_LEVELS] = {
      "still used as tuned", "conservative algorithms only", "the CPU computes"};
  const cvy_fault_entry *unused;
  bool forgiven = is_forgiven(each, now);
  const char *state = forgiven ? "forgiven" : meaning[level_of(table, each, now, limit, &unused)];
  int64_t left = forgiven ? 0 : each->last + CVY_FAULT_QUIET - now;
  cvy_text out = cvy_text_in(line, size);
  cvy_text_add(&out, "%s (driver %s): %d with %s on %s: %s, forgiven in %.1f h; last: %s\n",
               each->device, each->driver, (int)each->count, each->algorithm, each->example, state,
               (double)left / 3600.0, each->reason);
}

void cvy_fault_table_describe(const cvy_fault_table *table, const char *device, int64_t now,
                              int32_t limit, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  for (int32_t i = 0; i < table->count; i++) {
    char line[1024];
    if (!is_named(&table->list[i], device)) continue;
    describe(table, &table->list[i], now, limit, line, sizeof line);
    if (out.used + strlen(line) < size) cvy_text_add(&out, "%s", line);
  }
}
