/* Copying past the caches, where the compiler knows such stores. */
#include "cpu/shared/stream.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "cpu/shared/sizes.h"

#define LARGE (INT64_C(32) << 20)  /* what last levels of cache hold */
#define SMALL (INT64_C(256) << 10) /* what a second level holds beside its other work */

bool cvy_stream_pays(int64_t bytes, int64_t unit) {
#if defined(__SSE2__)
  return bytes > LARGE && unit <= SMALL;
#else
  (void)bytes, (void)unit;
  return false;
#endif
}

static void copy_line(float *to, const float *from) {
#if defined(__SSE2__)
  for (int i = 0; i < CVY_LINE_FLOATS; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#else
  memcpy(to, from, CVY_LINE_FLOATS * sizeof *to);
#endif
}

void cvy_stream(float *to, const float *from, int64_t floats) {
  int64_t behind = (int64_t)((uintptr_t)to / sizeof *to % CVY_LINE_FLOATS);
  int64_t i = cvy_min(behind ? CVY_LINE_FLOATS - behind : 0, floats);
  memcpy(to, from, (size_t)i * sizeof *to);
  for (; i + CVY_LINE_FLOATS <= floats; i += CVY_LINE_FLOATS) copy_line(to + i, from + i);
  memcpy(to + i, from + i, (size_t)(floats - i) * sizeof *to);
}

void cvy_stream_end(void) {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}
