/* The record of strikes as data and as text. The text is input like any other: nothing in it is
 * trusted. */
#include "core/strikes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/fields.h"

static const char version_line[] = "convoy-faults 1\n";
static const char *const rung_names[CVY_RUNGS] = {"tuned", "conservative", "CPU"};

/* ------------------------------------------------------------------------------- the list */

static void copy_strike(cvy_strike *to, const cvy_strike *from) {
  cvy_field_copy(to->device, sizeof to->device, from->device);
  cvy_field_copy(to->driver, sizeof to->driver, from->driver);
  cvy_field_copy(to->algorithm, sizeof to->algorithm, from->algorithm);
  cvy_field_copy(to->shape_class, sizeof to->shape_class, from->shape_class);
  cvy_field_copy(to->example, sizeof to->example,
                 *from->example ? from->example : from->shape_class);
  cvy_field_copy(to->reason, sizeof to->reason, from->reason);
  to->rung = from->rung;
  to->count = from->count;
  to->unwritten = from->unwritten;
  to->last = from->last;
}

static bool same_place(const cvy_strike *a, const cvy_strike *b) {
  return a->rung == b->rung && strcmp(a->device, b->device) == 0 &&
         strcmp(a->driver, b->driver) == 0 && strcmp(a->algorithm, b->algorithm) == 0 &&
         strcmp(a->shape_class, b->shape_class) == 0;
}

/* One of the future was written before the clock was set back. */
static bool is_forgiven(const cvy_strike *strike, int64_t now) {
  return now - strike->last >= CVY_STRIKE_QUIET || strike->last - now >= CVY_STRIKE_QUIET;
}

static void drop(cvy_strikes *strikes, int32_t index) {
  strikes->list[index] = strikes->list[--strikes->count];
}

/* A clock that was set back must not keep a strike for longer than a day from now. */
static void forgive(cvy_strikes *strikes, int64_t now) {
  for (int32_t i = strikes->count - 1; i >= 0; i--) {
    cvy_strike *each = &strikes->list[i];
    if (each->last > now) each->last = now;
    if (is_forgiven(each, now)) drop(strikes, i);
  }
}

static int32_t sum_of(int32_t a, int32_t b) {
  int32_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT32_MAX : sum;
}

static int32_t oldest(const cvy_strikes *strikes) {
  int32_t found = 0;
  for (int32_t i = 1; i < strikes->count; i++) {
    if (strikes->list[i].last < strikes->list[found].last) found = i;
  }
  return found;
}

void cvy_strikes_add(cvy_strikes *strikes, const cvy_strike *what) {
  cvy_strike added;
  copy_strike(&added, what);
  forgive(strikes, added.last);
  for (int32_t i = 0; i < strikes->count; i++) {
    if (!same_place(&strikes->list[i], &added)) continue;
    added.count = sum_of(added.count, strikes->list[i].count);
    added.unwritten = sum_of(added.unwritten, strikes->list[i].unwritten);
    drop(strikes, i);
    break;
  }
  if (strikes->count == CVY_STRIKES) drop(strikes, oldest(strikes));
  strikes->list[strikes->count++] = added;
}

static bool is_named(const cvy_strike *strike, const char *device) {
  return !device || strstr(strike->device, device);
}

void cvy_strikes_forget(cvy_strikes *strikes, const char *device) {
  for (int32_t i = strikes->count - 1; i >= 0; i--) {
    if (is_named(&strikes->list[i], device)) drop(strikes, i);
  }
}

/* ------------------------------------------------------------------------------ the ladder */

static bool counts_for(const cvy_strike *strike, const cvy_strike *place, int64_t now) {
  return !is_forgiven(strike, now) && strcmp(strike->device, place->device) == 0 &&
         strcmp(strike->driver, place->driver) == 0 &&
         (strcmp(strike->shape_class, "*") == 0 ||
          strcmp(strike->shape_class, place->shape_class) == 0);
}

static cvy_rung rung_of(const cvy_strikes *strikes, const cvy_strike *place, int64_t now,
                        int32_t limit, const cvy_strike **why) {
  int64_t counts[CVY_RUNGS] = {0};
  *why = NULL;
  for (int32_t i = 0; i < strikes->count; i++) {
    const cvy_strike *each = &strikes->list[i];
    if (!counts_for(each, place, now)) continue;
    counts[each->rung] += each->count;
    if (!*why || each->last > (*why)->last) *why = each;
  }
  if (counts[CVY_RUNG_CONSERVATIVE] >= limit) return CVY_RUNG_CPU;
  if (counts[CVY_RUNG_TUNED] >= limit) return CVY_RUNG_CONSERVATIVE;
  *why = NULL;
  return CVY_RUNG_TUNED;
}

cvy_rung cvy_strikes_rung(const cvy_strikes *strikes, const char *device, const char *driver,
                          const char *shape_class, int64_t now, int32_t limit,
                          const cvy_strike **why) {
  cvy_strike place;
  cvy_field_copy(place.device, sizeof place.device, device);
  cvy_field_copy(place.driver, sizeof place.driver, driver);
  cvy_field_copy(place.shape_class, sizeof place.shape_class, shape_class);
  return rung_of(strikes, &place, now, limit, why);
}

/* -------------------------------------------------------------------------------- the text */

enum { DEVICE, DRIVER, ALGORITHM, EXAMPLE, RUNG, COUNT, LAST, REASON, FIELDS };

static bool parse_number(const char *text, int64_t high, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  *out = value;
  return end != text && *end == '\0' && !errno && value >= 0 && value <= high;
}

static bool parse_rung(const char *text, cvy_rung *out) {
  for (int rung = CVY_RUNG_TUNED; rung < CVY_RUNG_CPU; rung++) {
    *out = (cvy_rung)rung;
    if (strcmp(text, rung_names[rung]) == 0) return true;
  }
  return false;
}

/* What is no example is the name of a class, or the "*" for all. */
static bool find_class(const char *example, char *shape_class, size_t size) {
  return cvy_class_of_example(example, shape_class, size) ||
         cvy_field_take(shape_class, size, example);
}

static bool parse_strike(char *line, cvy_strike *out) {
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
      !parse_rung(field[RUNG], &out->rung) || !parse_number(field[COUNT], INT32_MAX, &count) ||
      !parse_number(field[LAST], INT64_MAX / 2, &out->last)) {
    return false;
  }
  out->count = (int32_t)count;
  out->unwritten = 0;
  return true;
}

static void parse_line(const char *line, size_t length, cvy_strikes *out) {
  char copy[1024];
  if (length == 0) return;
  bool fits = length < sizeof copy && out->count < CVY_STRIKES;
  if (fits) {
    memcpy(copy, line, length);
    copy[length] = '\0';
  }
  if (fits && parse_strike(copy, &out->list[out->count])) {
    out->count++;
  } else {
    out->skipped++;
  }
}

void cvy_strikes_parse(const char *text, cvy_strikes *out) {
  out->count = 0;
  out->skipped = strncmp(text, version_line, strlen(version_line)) != 0;
  if (out->skipped) return;
  const char *at = text + strlen(version_line);
  while (*at) {
    size_t length = strcspn(at, "\n");
    parse_line(at, length, out);
    at += length + (at[length] == '\n');
  }
}

void cvy_strikes_format(const cvy_strikes *strikes, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  cvy_text_add(&out, "%s", version_line);
  for (int32_t i = 0; i < strikes->count; i++) {
    const cvy_strike *each = &strikes->list[i];
    cvy_text_add(&out, "%s | %s | %s | %s | %s | %d | %" PRId64 " | %s\n", each->device,
                 each->driver, each->algorithm, each->example, rung_names[each->rung],
                 (int)each->count, each->last, each->reason);
  }
}

/* -------------------------------------------------------------------------------- for people */

static void describe(const cvy_strikes *strikes, const cvy_strike *each, int64_t now, int32_t limit,
                     char *line, size_t size) {
  static const char *const meaning[CVY_RUNGS] = {
      "still used as tuned", "conservative algorithms only", "the CPU computes"};
  const cvy_strike *unused;
  const bool forgiven = is_forgiven(each, now);
  const char *state = forgiven ? "forgiven" : meaning[rung_of(strikes, each, now, limit, &unused)];
  const int64_t left = forgiven ? 0 : each->last + CVY_STRIKE_QUIET - now;
  cvy_text out = cvy_text_in(line, size);
  cvy_text_add(&out, "%s (driver %s): %d with %s on %s: %s, forgiven in %.1f h; last: %s\n",
               each->device, each->driver, (int)each->count, each->algorithm, each->example, state,
               (double)left / 3600.0, each->reason);
}

void cvy_strikes_describe(const cvy_strikes *strikes, const char *device, int64_t now,
                          int32_t limit, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  for (int32_t i = 0; i < strikes->count; i++) {
    char line[1024];
    if (!is_named(&strikes->list[i], device)) continue;
    describe(strikes, &strikes->list[i], now, limit, line, sizeof line);
    if (out.used + strlen(line) < size) cvy_text_add(&out, "%s", line);
  }
}
