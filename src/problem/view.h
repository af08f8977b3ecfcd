/* An operand that is part of a larger tensor: some of its channels, in all of its images.
 *
 * Images then do not lie one behind the other, there are gaps between them which belong to others
 * and are neither read nor written. Where the part begins is not the problem's to say, but for what
 * kernels are chosen by: how far it is aligned. Only plans of graphs make such problems; a public
 * call's arrays are arrays of their own. */
#ifndef CVY_VIEW_H
#define CVY_VIEW_H

#include "base/base.h"

/* All 0: an array of its own. */
typedef struct cvy_array_view {
  int64_t pitch;   /* elements from image to image; 0: as many as an image has */
  int64_t aligned; /* both `pitch` and where it begins are multiples of so many elements, as a
                      binary logarithm; 0 of an array of its own */
} cvy_array_view;

/* Where an array of its own begins is a multiple of so many elements, in memory that it shares. */
enum { CVY_ARRAY_ALIGN = 64 };

/* No kernel asks for more than vectors of four, so there are three classes. */
enum { CVY_ARRAY_VIEW_MOST_ALIGNED = 2 };

static inline bool cvy_array_view_is_part(const cvy_array_view *view) {
  return view->pitch != 0;
}

/* Elements that its beginning and its pitch are multiples of. An array of its own begins where any
 * vector may, and what its images are multiples of is the problem's extents to say. */
static inline int64_t cvy_array_view_alignment(const cvy_array_view *view) {
  int64_t log2 = cvy_array_view_is_part(view) ? view->aligned : CVY_ARRAY_VIEW_MOST_ALIGNED;
  return INT64_C(1) << log2;
}

/* Whether a vector of four may be wherever a multiple of four elements lies before. */
static inline bool cvy_array_view_takes_fours(const cvy_array_view *view) {
  return cvy_array_view_alignment(view) % 4 == 0;
}

/* Elements from image to image, of which one has `image`. */
static inline int64_t cvy_array_view_pitch(const cvy_array_view *view, int64_t image) {
  return cvy_array_view_is_part(view) ? view->pitch : image;
}
/* From the first to the last element, the gaps between them included. */
static inline int64_t cvy_array_view_reach(const cvy_array_view *view, int64_t images,
                                           int64_t image) {
  return images > 0 && image > 0 ? (images - 1) * cvy_array_view_pitch(view, image) + image : 0;
}
/* Where element `index` of all images lies. */
static inline int64_t cvy_array_view_place(const cvy_array_view *view, int64_t image,
                                           int64_t index) {
  return cvy_array_view_is_part(view) ? index / image * view->pitch + index % image : index;
}

/* Whether images of so many elements can lie so: none overlaps another, and the bytes up to the
 * last one can be counted. */
bool cvy_array_view_legal(const cvy_array_view *view, int64_t images, int64_t image);

/* As text, ", x 51200 apart by 4" of a part, else nothing: pitch and alignment in elements. */
void cvy_array_view_print(const cvy_array_view *view, const char *name, cvy_text *text);
/* Takes such words off `*at`; without them it is an array of its own. False where they are begun
 * and not understood. */
bool cvy_array_view_parse(const char **at, const char *name, cvy_array_view *out);
/* Reads what views say behind a text, in the order of `names`, each in its place of `out`; the text
 * goes to `line`. Returns what is left behind the views; NULL: they are
 * not understood. */
const char *cvy_array_views_parse(const char *text, char *line, size_t size,
                                  const char *const *names, int32_t count, cvy_array_view *out);
/* What shape classes say of it, "_x4" for one that is aligned to four elements. */
void cvy_array_view_class(const cvy_array_view *view, const char *name, cvy_text *text);

#endif
