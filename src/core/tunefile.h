/* Tuning records: what was measured once, kept as text.
 *
 * File: first line "convoy-tune 1", then one record per line,
 *   algorithm | device | driver | k=<hash> | problem | A=1 B=2 | 0.412 ms
 * k changes with the algorithm's parameters and kernels (cvy_params_hash). The problem is a line of
 * convoy_parse_problem; older files have a word in its place, n1c3k16_in1,9,9_..., which is read
 * too. core/tunedisk.h says where the files are. */
#ifndef CVY_TUNEFILE_H
#define CVY_TUNEFILE_H

#include "backend.h"

typedef struct cvy_record {
  char algorithm[32], device[128], driver[128], params[128];
  cvy_problem problem; /* of it only what cvy_problem_same compares */
  uint64_t hash;
  double milliseconds;
} cvy_record;

#define CVY_RECORD_TEXT 1024 /* bytes that hold any record's line */

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
/* The whole file's text, malloc'ed; NULL if memory ran out. */
char *cvy_records_format(const cvy_records *records);
/* Replaces the records of the same place and problem; there is one for each. ERR_MEMORY. */
convoy_status cvy_records_put(cvy_records *records, const cvy_record *record);
void cvy_records_free(cvy_records *records);

#endif
