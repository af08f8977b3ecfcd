/* Cutting something into parts, for caches and for threads. */
#ifndef CVY_CPU_SHARED_CUT_H
#define CVY_CPU_SHARED_CUT_H

#include "cpu/shared/range.h"

typedef struct cvy_cut {
  int64_t size;  /* of every part but perhaps the last, which may be smaller */
  int64_t count; /* how many parts there are */
} cvy_cut;

/* Parts of one size. */
static inline cvy_cut cvy_cut_by(int64_t whole, int64_t size) {
  return (cvy_cut){size, cvy_div_up(whole, size)};
}

/* At most `parts` parts, as even as multiples of `unit` can be. */
static inline cvy_cut cvy_cut_into(int64_t whole, int64_t parts, int64_t unit) {
  int64_t size = cvy_align_up(cvy_div_up(whole, cvy_max(parts, 1)), unit);
  return cvy_cut_by(whole, cvy_max(cvy_min(size, whole), 1));
}

/* Part `number` of them. */
static inline cvy_range cvy_cut_part(cvy_cut cut, int64_t whole, int64_t number) {
  int64_t begin = cvy_min(number * cut.size, whole);
  return (cvy_range){begin, cvy_min(begin + cut.size, whole)};
}

/* Share `number` of `shares`, whose sizes differ by one at most. */
static inline cvy_range cvy_share(int64_t whole, int64_t shares, int64_t number) {
  return (cvy_range){number * whole / shares, (number + 1) * whole / shares};
}

#endif
