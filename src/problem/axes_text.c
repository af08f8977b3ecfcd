/* Extents and words with a number for each axis, both ways. */
#include "problem/axes_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef long long ll;

/* ----------------------------------------------------------------------------------- reading */

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

int64_t cvy_read_lettered(cvy_reader *r, const char *letter, const char *what) {
  if (!cvy_read_expected(r, cvy_read_word(r, letter), what)) return 0;
  return cvy_read_number(r);
}

int cvy_read_maps(cvy_reader *r, int64_t *shape) {
  static const char *const letters[] = {"z", "h", "w"};
  shape[0] = cvy_read_lettered(r, "n", "n");
  shape[1] = cvy_read_lettered(r, "c", "c");
  int first = r->fault ? 2 : *r->at == 'z' ? 0 : *r->at == 'h' ? 1 : 2;
  for (int i = first; i < 3; i++)
    shape[2 + i - first] = cvy_read_lettered(r, letters[i], "z, h and w in this order");
  cvy_read_expected(r, cvy_read_word(r, " "), "a space");
  return 3 - first;
}

void cvy_read_filter(cvy_reader *r, int rank, int64_t *extents) {
  static const char *const letters[] = {"t", "r", "s"};
  for (int i = 0; i < rank; i++)
    extents[i] = cvy_read_lettered(r, letters[3 - rank + i], "t, r and s like z, h and w");
}

static void per_axis(cvy_reader *r, int rank, int64_t *begin, int64_t *end) {
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

void cvy_read_axes(cvy_reader *r, const char *word, int rank, int64_t *begin, int64_t *end,
                   const char *behind) {
  if (!cvy_read_word(r, word)) return;
  per_axis(r, rank, begin, end);
  cvy_read_expected(r, cvy_read_word(r, " "), behind);
}

convoy_status cvy_read_failed(const cvy_reader *r) {
  return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text, character %d (\"%.20s\"): expected %s",
                  (int)(r->at - r->start), r->at, r->fault);
}

/* ----------------------------------------------------------------------------------- writing */

static bool all_are(const int64_t *values, int rank, int64_t value) {
  for (int i = 0; i < rank; i++)
    if (values[i] != value) return false;
  return true;
}

void cvy_add_axes(cvy_text *text, const char *word, const int64_t *values, int rank,
                  int64_t usual) {
  if (all_are(values, rank, usual)) return;
  int count = all_are(values, rank, values[0]) ? 1 : rank;
  for (int i = 0; i < count; i++) cvy_text_add(text, "%s%lld", i ? "," : word, (ll)values[i]);
  cvy_text_add(text, " ");
}

void cvy_add_padding(cvy_text *text, const int64_t *begin, const int64_t *end, int rank) {
  if (all_are(begin, rank, 0) && all_are(end, rank, 0)) return;
  bool same = all_are(begin, rank, begin[0]) && all_are(end, rank, end[0]);
  for (int i = 0; i < (same ? 1 : rank); i++) {
    cvy_text_add(text, "%s%lld", i ? "," : "pad", (ll)begin[i]);
    if (end[i] != begin[i]) cvy_text_add(text, ":%lld", (ll)end[i]);
  }
  cvy_text_add(text, " ");
}

void cvy_add_extents(cvy_text *text, const char *letters, const int64_t *extents, int rank) {
  for (int i = 0; i < rank; i++)
    cvy_text_add(text, "%c%lld", letters[3 - rank + i], (ll)extents[i]);
}
