/* Tuning records: what was measured once, kept as text.
 *
 * File: first line "convoy-tune 1", then one record per line,
 *   algorithm | device | driver | k=<hash> | <problem key> | A=1 B=2 | 0.412 ms
 * k changes with the algorithm's parameters (cvy_params_hash). */
#ifndef CVY_TUNEFILE_H
#define CVY_TUNEFILE_H

#include "backend.h"

typedef struct cvy_record {
  char algorithm[32], device[128], driver[128], key[CONVOY_PROBLEM_TEXT], params[128];
  uint64_t hash;
  double milliseconds;
} cvy_record;

/* One line without its newline. False if it is not a record; `out` is then undefined. */
bool cvy_record_parse(const char *line, cvy_record *out);
/* The line with its newline; false if it does not fit. A '|' in a name becomes '/'. */
bool cvy_record_format(const cvy_record *record, char *line, size_t size);
/* Fills `device` and `driver` as they stand in files. */
void cvy_record_place(const cvy_facts *facts, cvy_record *out);

typedef struct cvy_records {
  cvy_record *list;
  int32_t count, capacity;
  int32_t skipped; /* lines that were no records */
} cvy_records;

/* Reads a whole file's text. Lines that are no records are counted and skipped; a text that does
 * not begin with the version line gives none and counts as one. ERR_MEMORY. */
convoy_status cvy_records_parse(const char *text, cvy_records *out);
/* The file named by CONVOY_TUNE_FILE, else tune.txt in the configuration folder. Never fails: what
 * is not there or wrong is left out, with one line of log. */
void cvy_records_load(cvy_records *out);
void cvy_records_free(cvy_records *records);

#endif
