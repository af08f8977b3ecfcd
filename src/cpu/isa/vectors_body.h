/* Vectors of the instruction set that is compiled for, in GCC's vector extensions. The including
 * file sets WIDTH, the floats of a native register. */
#include <stdint.h>

typedef float vector __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef int32_t vector_mask __attribute__((vector_size(4 * WIDTH), may_alias));
typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

/* Of a function that is always inlined, parameters declared const are constants for each of its
 * callers, and so are loops over them. */
#define ALWAYS static inline __attribute__((always_inline))

/* Whether x86's compilers can be asked for a vector in a register. They cannot for AVX-512's
 * vectors in AVX2's registers. */
#if defined(__x86_64__) && (WIDTH < 16 || defined(__AVX512F__))
#define IN_REGISTER 1
#else
#define IN_REGISTER 0
#endif

static inline vector load(const float *from) {
  return *(const vector *)from;
}

static inline void store(float *to, vector value) {
  *(vector *)to = value;
}

/* Has all bits of element `first` and of those behind it. */
static inline vector_mask mask_from(int64_t first) {
  vector_mask number = {0};
  for (int i = 0; i < WIDTH; i++) number[i] = i;
  return number >= (int32_t)first;
}
