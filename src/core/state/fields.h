/* Lines of texts, "a | b | c", as tables on disk have them. What is read is input like any
 * other. */
#ifndef CVY_FIELDS_H
#define CVY_FIELDS_H

#include "base/base.h"

/* Copies `from` without what would break a line apart; an empty text, which would be two separators
 * in a row, becomes "-". */
void cvy_field_copy(char *to, size_t size, const char *from);
/* Copies a field that was read; false unless it is as cvy_field_copy would have written it. */
bool cvy_field_take(char *to, size_t size, const char *field);
/* Cuts a line at its separators; false unless there are exactly `count` fields. */
bool cvy_fields_cut(char *line, char *fields[], int count);

/* Where a table's lines begin: behind its first, which names format and version, end included.
 * False if that is another; `at` then has no lines. */
bool cvy_lines_begin(const char *text, const char *version_line, const char **at);
/* Copies the next line without its end and moves behind it; false at the end of the text. Empty
 * lines are passed over; one that does not fit is given as an empty one, which is no entry of any
 * table. */
bool cvy_lines_next(const char **at, char *line, size_t size);

#endif
