/* Legality and text of parts of larger tensors. */
#include "problem/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool cvy_array_view_legal(const cvy_array_view *view, int64_t images, int64_t image) {
  int64_t bytes;
  if (!cvy_array_view_is_part(view)) return view->aligned == 0;
  if (view->aligned < 0 || view->aligned > CVY_ARRAY_VIEW_MOST_ALIGNED) return false;
  if (view->pitch < image || view->pitch % cvy_array_view_alignment(view) != 0) return false;
  /* As many pitches as images: a bound that no number of images hides, none included. */
  return !__builtin_mul_overflow(view->pitch, images > 0 ? images : 1, &bytes) &&
         !__builtin_mul_overflow(bytes, (int64_t)sizeof(float), &bytes);
}

void cvy_array_view_print(const cvy_array_view *view, const char *name, cvy_text *text) {
  if (!cvy_array_view_is_part(view)) return;
  cvy_text_add(text, ", %s %lld apart by %lld", name, (long long)view->pitch,
               (long long)cvy_array_view_alignment(view));
}

static bool take(const char **at, const char *word) {
  size_t length = strlen(word);
  if (strncmp(*at, word, length) != 0) return false;
  *at += length;
  return true;
}

static bool take_number(const char **at, int64_t *out) {
  char *end;
  errno = 0;
  if (**at < '1' || **at > '9') return false;
  *out = strtoll(*at, &end, 10);
  *at = end;
  return errno == 0;
}

/* Numbers that are printed otherwise are none of a view's: a text is that of one problem. */
bool cvy_array_view_parse(const char **at, const char *name, cvy_array_view *out) {
  const char *begin = *at;
  int64_t alignment = 0;
  *out = (cvy_array_view){0, 0};
  bool named = take(at, ", ") && take(at, name) && take(at, " ");
  if (!named) {
    *at = begin;
    return true;
  }
  if (!take_number(at, &out->pitch) || !take(at, " apart by ")) return false;
  if (!take_number(at, &alignment)) return false;
  while (out->aligned < CVY_ARRAY_VIEW_MOST_ALIGNED && cvy_array_view_alignment(out) < alignment)
    out->aligned++;
  return cvy_array_view_alignment(out) == alignment;
}

const char *cvy_array_views_parse(const char *text, char *line, size_t size,
                                  const char *const *names, int32_t count, cvy_array_view *out) {
  const char *rest = strstr(text, ", ");
  size_t length = rest ? (size_t)(rest - text) : strlen(text);
  cvy_text_copy(line, length < size ? length + 1 : size, text);
  if (!rest) rest = "";
  for (int32_t i = 0; i < count; i++)
    if (!cvy_array_view_parse(&rest, names[i], &out[i])) return NULL;
  return rest;
}

void cvy_array_view_class(const cvy_array_view *view, const char *name, cvy_text *text) {
  if (cvy_array_view_is_part(view))
    cvy_text_add(text, "_%s%lld", name, (long long)cvy_array_view_alignment(view));
}
