/* Reading and writing tuning records. The file is input like any other: nothing in it is
 * trusted. */
#include "core/tune/tunefile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/state/fields.h"

static const char version_line[] = "convoy-tune 1\n";

enum { ALGORITHM, DEVICE, DRIVER, HASH, PROBLEM, PARAMS, TIME, FIELDS };

/* Copies `from` without '|' and line ends, which would break the line apart. */
static void copy_field(char *to, size_t size, const char *from) {
  cvy_text_copy(to, size, from);
  for (char *at = to; *at; at++) {
    if (*at == '|' || *at == '\n') *at = '/';
  }
}

static bool parse_hash(const char *text, uint64_t *out) {
  int end = 0;
  return sscanf(text, "k=%16" SCNx64 "%n", out, &end) == 1 && text[end] == '\0';
}

static bool parse_time(const char *text, double *out) {
  char *end;
  *out = cvy_double(text, &end);
  return end != text && strcmp(end, " ms") == 0 && isfinite(*out) && *out >= 0;
}

/* ---------------------------------------------------------------------------------- records */

bool cvy_record_parse(const char *line, cvy_record *out) {
  char copy[CVY_RECORD_TEXT];
  char *field[FIELDS];
  if (strlen(line) >= sizeof(copy)) return false;
  strcpy(copy, line);
  if (!cvy_fields_cut(copy, field, FIELDS)) return false;
  const struct {
    int field;
    char *to;
    size_t size;
  } texts[] = {
      {ALGORITHM, out->algorithm, sizeof(out->algorithm)},
      {DEVICE, out->device, sizeof(out->device)},
      {DRIVER, out->driver, sizeof(out->driver)},
      {PARAMS, out->params, sizeof(out->params)},
  };
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    if (strlen(field[texts[i].field]) >= texts[i].size) return false;
    strcpy(texts[i].to, field[texts[i].field]);
  }
  return parse_hash(field[HASH], &out->hash) && parse_time(field[TIME], &out->milliseconds) &&
         cvy_problem_read(field[PROBLEM], &out->problem);
}

bool cvy_record_format(const cvy_record *record, char *line, size_t size) {
  char device[128], driver[128], problem[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(&record->problem, problem, sizeof(problem));
  copy_field(device, sizeof(device), record->device);
  copy_field(driver, sizeof(driver), record->driver);
  cvy_text text = cvy_text_in(line, size);
  cvy_text_add(&text, "%s | %s | %s | k=%016" PRIx64 " | %s | %s | %.6g ms\n", record->algorithm,
               device, driver, record->hash, problem, record->params, record->milliseconds);
  return !text.overflow;
}

void cvy_record_place(const cvy_facts *facts, cvy_record *out) {
  copy_field(out->device, sizeof(out->device), facts->info.name);
  copy_field(out->driver, sizeof(out->driver), facts->info.driver);
}

static convoy_status append(cvy_records *records, const cvy_record *record) {
  if (records->count == records->capacity) {
    int32_t capacity = records->capacity ? 2 * records->capacity : 16;
    cvy_record *list = realloc(records->list, (size_t)capacity * sizeof(*list));
    if (!list) return cvy_fail(CONVOY_ERR_MEMORY, "no memory for %d tuning records", (int)capacity);
    records->list = list;
    records->capacity = capacity;
  }
  records->list[records->count++] = *record;
  return CONVOY_OK;
}

convoy_status cvy_records_parse(const char *text, cvy_records *out) {
  char line[CVY_RECORD_TEXT];
  cvy_record record;
  const char *at;
  *out = (cvy_records){.skipped = !cvy_lines_begin(text, version_line, &at)};
  while (cvy_lines_next(&at, line, sizeof(line))) {
    if (cvy_record_parse(line, &record)) {
      convoy_status status = append(out, &record);
      if (status) return status;
    } else {
      out->skipped++;
    }
  }
  return CONVOY_OK;
}

char *cvy_records_format(const cvy_records *records) {
  size_t most = sizeof(version_line) + (size_t)records->count * CVY_RECORD_TEXT;
  char *text = malloc(most);
  if (!text) return NULL;
  strcpy(text, version_line);
  size_t used = strlen(text);
  for (int32_t i = 0; i < records->count; i++) {
    if (cvy_record_format(&records->list[i], text + used, most - used)) {
      used += strlen(text + used);
    }
    text[used] = '\0';
  }
  return text;
}

static bool same_question(const cvy_record *a, const cvy_record *b) {
  return cvy_problem_same(&a->problem, &b->problem) && strcmp(a->device, b->device) == 0 &&
         strcmp(a->driver, b->driver) == 0;
}

convoy_status cvy_records_put(cvy_records *records, const cvy_record *record) {
  int32_t kept = 0;
  for (int32_t i = 0; i < records->count; i++) {
    if (!same_question(&records->list[i], record)) records->list[kept++] = records->list[i];
  }
  records->count = kept;
  return append(records, record);
}

void cvy_records_free(cvy_records *records) {
  free(records->list);
  *records = (cvy_records){0};
}
