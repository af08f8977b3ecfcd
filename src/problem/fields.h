/* Texts of problems as tables: what a family's texts say, a row for each word and number in their
 * order, of which texts are printed and read. What has no row, a family's own functions see to.
 *
 * Readers go over a line once; the first thing that does not fit is the fault, behind which nothing
 * is read. */
#ifndef CVY_FIELDS_H
#define CVY_FIELDS_H

#include "problem/view.h"

typedef enum cvy_field_kind {
  CVY_FIELD_WORD,    /* the word */
  CVY_FIELD_CHOICE,  /* one of `words`; its number is an int32_t */
  CVY_FIELD_LAST,    /* the same at the end of a line */
  CVY_FIELD_FLAG,    /* the word where an int32_t is 1 */
  CVY_FIELD_NUMBER,  /* the word and a number */
  CVY_FIELD_OPTION,  /* the same and a blank, unless the number is `usual` */
  CVY_FIELD_MAPS,    /* n, c and the last of z, h, w, each with its extent, and a blank; how many
                        spatial ones there are is the rank */
  CVY_FIELD_EXTENTS, /* the last letters of `word`, as many as the rank, each with its extent */
  CVY_FIELD_ONE,     /* the word, a number and a blank, unless the number is `usual` */
  CVY_FIELD_AXES,    /* the same with a number for each axis, or one for all, without signs */
  CVY_FIELD_SIDES,   /* the same with begin:end where these differ, of which `end` is the second */
  CVY_FIELD_LIST,    /* the word, numbers of any sign and a blank; how many there are is the rank */
  CVY_FIELD_ALIKE,   /* the same, as many as the rank */
  CVY_FIELD_PART     /* the same, unless the numbers are those at `end` */
} cvy_field_kind;

typedef struct cvy_field {
  cvy_field_kind kind;
  const char *word;
  size_t at; /* where the value is in what the text says: an int64_t, or an array of them */
  const char *expected; /* what a reader says that finds something else */
  int64_t usual;
  size_t end;
  const char *const *words; /* the last is NULL */
} cvy_field;

/* Texts of a struct with an int32_t `rank`. */
typedef struct cvy_fields {
  const cvy_field *row;
  int32_t count;
  size_t rank;
} cvy_fields;

/* A place in a text; `fault` says what was expected there once something did not fit. */
typedef struct cvy_reader {
  const char *start, *at, *fault;
} cvy_reader;

void cvy_fields_print(const cvy_fields *fields, const void *from, cvy_text *to);
/* Leaves alone what the text does not say. */
void cvy_fields_read(const cvy_fields *fields, cvy_reader *r, void *to);

/* Puts a blank behind a text, so that every word has one. ERR_ARGUMENT: it is too long. */
convoy_status cvy_read_begin(const char *text, char line[CONVOY_PROBLEM_TEXT + 1], cvy_reader *r);
/* Returns whether there is no fault, which is `what` if it is not `ok`. */
bool cvy_read_expected(cvy_reader *r, bool ok, const char *what);
/* Whether the word is there, which is then behind the place. */
bool cvy_read_word(cvy_reader *r, const char *word);
int64_t cvy_read_number(cvy_reader *r);
/* ERR_ARGUMENT with the place of the fault. */
convoy_status cvy_read_failed(const cvy_reader *r);

#endif
