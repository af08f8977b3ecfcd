/* Lines of texts, "a | b | c", as records on disk have them. What is read is input like any other. */
#ifndef CVY_FIELDS_H
#define CVY_FIELDS_H

#include "base/base.h"

/* Copies `from` without what would break a line apart; an empty text, which would be two separators in a
 * row, becomes "-". */
void cvy_field_copy(char *to, size_t size, const char *from);
/* Copies a field that was read; false unless it is as cvy_field_copy would have written it. */
bool cvy_field_take(char *to, size_t size, const char *field);
/* Cuts a line at its separators; false unless there are exactly `count` fields. */
bool cvy_fields_cut(char *line, char *fields[], int count);

#endif
