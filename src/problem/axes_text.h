/* What texts of problems over maps have in common: extents with letters, and words with a number
 * for each spatial axis. */
#ifndef CVY_AXES_TEXT_H
#define CVY_AXES_TEXT_H

#include "base/base.h"

/* A place in a text; `fault` says what was expected there once something did not fit, and nothing
 * is read any more. */
typedef struct cvy_reader {
  const char *start, *at, *fault;
} cvy_reader;

/* Returns whether there is no fault, which is `what` if it is not `ok`. */
bool cvy_read_expected(cvy_reader *r, bool ok, const char *what);
/* Whether the word is there, which is then behind the place. */
bool cvy_read_word(cvy_reader *r, const char *word);
int64_t cvy_read_number(cvy_reader *r);
int64_t cvy_read_lettered(cvy_reader *r, const char *letter, const char *what);
/* "n2c3h4w5 ", with z, h and w or the last of them; returns their number. */
int cvy_read_maps(cvy_reader *r, int64_t *shape);
/* "t1r2s3", as many as there are axes. */
void cvy_read_filter(cvy_reader *r, int rank, int64_t *extents);
/* An optional word with one number for all axes or one for each, with `end` each may be begin:end;
 * and the space behind it, where `behind` is expected. */
void cvy_read_axes(cvy_reader *r, const char *word, int rank, int64_t *begin, int64_t *end,
                   const char *behind);
/* ERR_ARGUMENT with the place of the fault. */
convoy_status cvy_read_failed(const cvy_reader *r);

/* The last `rank` of three letters, each with its extent. */
void cvy_add_extents(cvy_text *text, const char *letters, const int64_t *extents, int rank);
/* The word with its numbers and a space, unless all have the usual value. */
void cvy_add_axes(cvy_text *text, const char *word, const int64_t *values, int rank, int64_t usual);
void cvy_add_padding(cvy_text *text, const int64_t *begin, const int64_t *end, int rank);

#endif
