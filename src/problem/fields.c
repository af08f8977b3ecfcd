/* Texts of problems, from a table both ways. */
#include "problem/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef long long ll;

static const char letters[] = "zhw";

/* ----------------------------------------------------------------------------------- reading */

convoy_status cvy_read_begin(const char *text, char line[CONVOY_PROBLEM_TEXT + 1], cvy_reader *r) {
  size_t length = strlen(text);
  *r = (cvy_reader){line, line, NULL};
  if (length >= CONVOY_PROBLEM_TEXT)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text of %zu bytes, at most %d", length,
                    CONVOY_PROBLEM_TEXT - 1);
  memcpy(line, text, length);
  memcpy(line + length, " ", 2);
  return CONVOY_OK;
}

bool cvy_read_expected(cvy_reader *r, bool ok, const char *what) {
  if (!ok && !r->fault) r->fault = what;
  return !r->fault;
}

bool cvy_read_word(cvy_reader *r, const char *word) {
  size_t length = strlen(word);
  if (r->fault || strncmp(r->at, word, length)) return false;
  r->at += length;
  return true;
}

int64_t cvy_read_number(cvy_reader *r) {
  char *end;
  errno = 0;
  /* strtoll would also take blanks and signs, which have no place in the grammar. */
  if (!cvy_read_expected(r, cvy_is_digit(*r->at), "a number")) return 0;
  long long value = strtoll(r->at, &end, 10);
  if (!cvy_read_expected(r, !errno, "a number below 2^63")) return 0;
  r->at = end;
  return value;
}

convoy_status cvy_read_failed(const cvy_reader *r) {
  return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text, character %d (\"%.20s\"): expected %s",
                  (int)(r->at - r->start), r->at, r->fault);
}

static int64_t read_named(cvy_reader *r, const char *word, const char *expected) {
  return cvy_read_expected(r, cvy_read_word(r, word), expected) ? cvy_read_number(r) : 0;
}

static void read_extents(cvy_reader *r, const char *names, int rank, const char *expected,
                         int64_t *extents) {
  for (int i = 0; i < rank; i++)
    extents[i] = read_named(r, (char[2]){names[3 - rank + i], '\0'}, expected);
}

static int32_t read_maps(cvy_reader *r, int64_t *shape) {
  shape[0] = read_named(r, "n", "n");
  shape[1] = read_named(r, "c", "c");
  const char *first = r->fault || !*r->at ? NULL : strchr(letters, *r->at);
  int32_t rank = r->fault || !first ? 1 : (int32_t)(letters + 3 - first);
  read_extents(r, letters, rank, "z, h and w in this order", shape + 2);
  cvy_read_expected(r, cvy_read_word(r, " "), "a space");
  return rank;
}

/* One number for all axes or one for each; of sides each may be begin:end. */
static void read_axes(cvy_reader *r, int rank, int64_t *begin, int64_t *end) {
  int count = 0;
  do {
    if (!cvy_read_expected(r, count < rank, "no more numbers than axes")) return;
    begin[count] = cvy_read_number(r);
    if (end) end[count] = cvy_read_word(r, ":") ? cvy_read_number(r) : begin[count];
    count++;
  } while (cvy_read_word(r, ","));
  if (!cvy_read_expected(r, count == 1 || count == rank, "one number or one per axis")) return;
  for (int i = count; i < rank; i++) {
    begin[i] = begin[0];
    if (end) end[i] = end[0];
  }
}

static int32_t read_list(cvy_reader *r, const char *word, int64_t *values) {
  int32_t count = 0;
  if (!cvy_read_expected(r, cvy_read_word(r, word), word)) return 0;
  do {
    if (!cvy_read_expected(r, count < CONVOY_BOX_AXES, "no more than 8 axes")) return 0;
    bool negative = cvy_read_word(r, "-");
    int64_t value = cvy_read_number(r);
    values[count++] = negative ? -value : value;
  } while (cvy_read_word(r, ","));
  cvy_read_expected(r, cvy_read_word(r, " "), "a space");
  return count;
}

/* Stays what it was where none of the words is there. */
static void read_choice(cvy_reader *r, const cvy_field *field, int32_t *value) {
  for (int32_t i = 0; field->words[i] && !r->fault; i++) {
    if (field->kind == CVY_FIELD_LAST && strcmp(r->at, field->words[i]) != 0) continue;
    if (!cvy_read_word(r, field->words[i])) continue;
    *value = i;
    return;
  }
  cvy_read_expected(r, false, field->expected);
}

static void read_field(cvy_reader *r, const cvy_field *field, void *to, int32_t *rank) {
  int64_t *value = (int64_t *)((char *)to + field->at), *end = (int64_t *)((char *)to + field->end);
  switch (field->kind) {
    case CVY_FIELD_WORD:
      cvy_read_expected(r, cvy_read_word(r, field->word), field->expected);
      return;
    case CVY_FIELD_CHOICE:
    case CVY_FIELD_LAST:
      read_choice(r, field, (int32_t *)value);
      return;
    case CVY_FIELD_FLAG:
      *(int32_t *)value = cvy_read_word(r, field->word);
      return;
    case CVY_FIELD_NUMBER:
      *value = read_named(r, field->word, field->expected);
      return;
    case CVY_FIELD_MAPS:
      *rank = read_maps(r, value);
      return;
    case CVY_FIELD_EXTENTS:
      read_extents(r, field->word, *rank, field->expected, value);
      return;
    case CVY_FIELD_LIST:
      *rank = read_list(r, field->word, value);
      return;
    case CVY_FIELD_PART:
      memcpy(value, end, (size_t)*rank * sizeof *value);
      if (r->fault || strncmp(r->at, field->word, strlen(field->word)) != 0) return;
      /* fall through */
    case CVY_FIELD_ALIKE:
      cvy_read_expected(r, read_list(r, field->word, value) == *rank, field->expected);
      return;
    case CVY_FIELD_OPTION:
      if (!cvy_read_word(r, field->word)) return;
      *value = cvy_read_number(r);
      break;
    default: {
      int count = field->kind == CVY_FIELD_ONE ? 1 : *rank;
      if (!cvy_read_word(r, field->word)) return;
      read_axes(r, count, value, field->kind == CVY_FIELD_SIDES ? end : NULL);
    }
  }
  cvy_read_expected(r, cvy_read_word(r, " "), field->expected);
}

void cvy_fields_read(const cvy_fields *fields, cvy_reader *r, void *to) {
  for (int32_t i = 0; i < fields->count; i++)
    read_field(r, &fields->row[i], to, (int32_t *)((char *)to + fields->rank));
}

/* ----------------------------------------------------------------------------------- writing */

static bool all_are(const int64_t *values, int rank, int64_t value) {
  for (int i = 0; i < rank; i++)
    if (values[i] != value) return false;
  return true;
}

static void add_list(cvy_text *to, const char *word, const int64_t *values, const int64_t *end,
                     int count) {
  for (int i = 0; i < count; i++) {
    cvy_text_add(to, "%s%lld", i ? "," : word, (ll)values[i]);
    if (end && end[i] != values[i]) cvy_text_add(to, ":%lld", (ll)end[i]);
  }
  cvy_text_add(to, " ");
}

static void add_axes(cvy_text *to, const cvy_field *field, const int64_t *values,
                     const int64_t *end, int rank) {
  if (all_are(values, rank, field->usual) && (!end || all_are(end, rank, field->usual))) return;
  bool same = all_are(values, rank, values[0]) && (!end || all_are(end, rank, end[0]));
  add_list(to, field->word, values, end, same ? 1 : rank);
}

static void add_extents(cvy_text *to, const char *names, const int64_t *extents, int rank) {
  for (int i = 0; i < rank; i++) cvy_text_add(to, "%c%lld", names[3 - rank + i], (ll)extents[i]);
}

static void print_field(cvy_text *to, const cvy_field *field, const void *from, int32_t rank) {
  const int64_t *value = (const int64_t *)((const char *)from + field->at);
  const int64_t *end = (const int64_t *)((const char *)from + field->end);
  switch (field->kind) {
    case CVY_FIELD_WORD:
      cvy_text_add(to, "%s", field->word);
      return;
    case CVY_FIELD_CHOICE:
    case CVY_FIELD_LAST:
      cvy_text_add(to, "%s", field->words[*(const int32_t *)value]);
      return;
    case CVY_FIELD_FLAG:
      cvy_text_add(to, "%s", *(const int32_t *)value ? field->word : "");
      return;
    case CVY_FIELD_NUMBER:
      cvy_text_add(to, "%s%lld", field->word, (ll)*value);
      return;
    case CVY_FIELD_MAPS:
      cvy_text_add(to, "n%lldc%lld", (ll)value[0], (ll)value[1]);
      add_extents(to, letters, value + 2, rank);
      cvy_text_add(to, " ");
      return;
    case CVY_FIELD_EXTENTS:
      add_extents(to, field->word, value, rank);
      return;
    case CVY_FIELD_PART:
      if (memcmp(value, end, (size_t)rank * sizeof *value) == 0) return;
      /* fall through */
    case CVY_FIELD_LIST:
    case CVY_FIELD_ALIKE:
      add_list(to, field->word, value, NULL, rank);
      return;
    default: {
      bool one = field->kind == CVY_FIELD_ONE || field->kind == CVY_FIELD_OPTION;
      add_axes(to, field, value, field->kind == CVY_FIELD_SIDES ? end : NULL, one ? 1 : rank);
    }
  }
}

void cvy_fields_print(const cvy_fields *fields, const void *from, cvy_text *to) {
  int32_t rank = *(const int32_t *)((const char *)from + fields->rank);
  for (int32_t i = 0; i < fields->count; i++) print_field(to, &fields->row[i], from, rank);
}
