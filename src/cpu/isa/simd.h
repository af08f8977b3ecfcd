/* The inner loops, one set for each instruction set. simd_body.h is compiled once for each with its
 * flags, and cvy_simd_best() picks at run time. */
#ifndef CVY_CPU_ISA_SIMD_H
#define CVY_CPU_ISA_SIMD_H

#include "base/base.h"
#include "cpu/isa/inner_products.h"
#include "cpu/isa/interleave.h"
#include "cpu/isa/microkernel.h"
#include "cpu/isa/stencil.h"
#include "cpu/isa/winograd.h"

/* Two planes whose products are summed: `rows` rows of `length`, which begin `a_pitch` and
 * `b_pitch` floats apart. The elements of b are `b_stride` apart. */
typedef struct cvy_plane_pair {
  const float *a, *b;
  int64_t a_pitch, b_pitch, b_stride;
  int64_t rows, length;
} cvy_plane_pair;

/* `count` neighbouring floats to be copied. */
typedef struct cvy_copy_run {
  int64_t from, to, count;
} cvy_copy_run;

/* Rows to be copied, `to_pitch` and `from_pitch` floats apart. */
typedef struct cvy_copy_rows {
  float *to;
  const float *from;
  int64_t to_pitch, from_pitch, rows, length;
} cvy_copy_rows;

typedef struct cvy_simd {
  const char *name;

  /* Loops over one line. */

  /* y[i] += sum over t of w[t] x[i + t step], i < length */
  void (*correlate)(float *y, const float *x, const float *w, int64_t taps, int64_t step,
                    int64_t length);
  /* y[i ys] += w x[i xs] */
  void (*axpy)(float *y, int64_t ys, const float *x, int64_t xs, float w, int64_t length);
  /* to[i] = from[i stride] */
  void (*gather)(float *to, const float *from, int64_t stride, int64_t length);
  /* to[i stride] = from[i]; what lies between may be read and written back */
  void (*scatter)(float *to, int64_t stride, const float *from, int64_t length);
  double (*sum)(const float *x, int64_t length);
  /* y[i] = x[i step] where that is larger, or a NaN: by whole numbers (cvy_pooling_key), not as the
   * processor compares floats */
  void (*maxima)(float *y, const float *x, int64_t step, int64_t length);
  /* The same of keys; taps[i] = tap where it is taken */
  void (*maxima_taps)(int32_t *keys, int32_t *taps, int32_t tap, const float *x, int64_t step,
                      int64_t length);
  /* y[i] = v > 0 ? v : v slope, where v = y[i] + bias. A NaN stays. Slope 1 means no activation. */
  void (*epilogue)(float *y, float bias, float slope, int64_t length);

  /* Loops over rows. */

  /* to[i] = from[i stride] in each row */
  void (*gather_rows)(const cvy_copy_rows *rows, int64_t stride);
  /* to[i stride] = from[i] in each row */
  void (*scatter_rows)(const cvy_copy_rows *rows, int64_t stride);
  /* to[i] = from[i] in each row. Behind rows shorter than a vector, 0 may be written up to its
   * end. */
  void (*pad_rows)(const cvy_copy_rows *rows);
  /* to[i] = from[2 i] and to[i + odd] = from[2 i + 1] in each row, as far as its `length` goes */
  void (*split_rows)(const cvy_copy_rows *rows, int64_t odd);
  /* to[2 i] = from[i] and to[2 i + 1] = from[i + odd] in each row */
  void (*join_rows)(const cvy_copy_rows *rows, int64_t odd);
  /* to[i] += from[i] in each row */
  void (*add_rows)(const cvy_copy_rows *rows);
  /* to[i] = from[i] / by[i] in each row, `by` the same in all */
  void (*divide_rows)(const cvy_copy_rows *rows, const float *by);
  /* The sum of a[r][i] b[r][i b_stride]. */
  double (*dot)(const cvy_plane_pair *planes);
  /* to[j to_pitch + i] = from[i from_pitch + j], i < rows, j < columns */
  void (*transpose)(float *to, int64_t to_pitch, const float *from, int64_t from_pitch,
                    int64_t rows, int64_t columns);
  /* Copies runs. If `loose`, `from` may be read and `to` written up to the end of a vector beyond a
   * run: the run that follows there repairs what is written. */
  void (*pack)(float *to, const float *from, const cvy_copy_run *runs, int64_t count, bool loose);

  /* Loops of the algorithms. */

  cvy_microkernel microkernel, narrow_microkernel; /* the narrow one is for few rows */
  cvy_inner_products_kernel inner_products;
  cvy_stencil_sums *sums;
  cvy_stencil_dots *dots;
  cvy_interleave_planes *interleave;
  cvy_deinterleave_planes *deinterleave;
  cvy_winograd_tables winograd;

  /* Runs `rounds` rounds of independent multiply-adds in registers, and returns how many
   * floating-point operations that were. `sink` keeps the compiler from dropping them. */
  double (*fma_peak_loop)(int64_t rounds, float *sink);
} cvy_simd;

extern const cvy_simd cvy_simd_baseline;
#if defined(__x86_64__)
extern const cvy_simd cvy_simd_avx2;
extern const cvy_simd cvy_simd_avx512;
#endif

/* The microkernel that leaves the fewest of its rows without an output. */
static inline const cvy_microkernel *cvy_microkernel_for(const cvy_simd *simd, int64_t outputs) {
  bool few = outputs <= simd->narrow_microkernel.rows;
  return few ? &simd->narrow_microkernel : &simd->microkernel;
}

/* The widest set this processor has, or what CONVOY_CPU_ISA names: baseline, avx2, avx512. */
const cvy_simd *cvy_simd_best(void);
/* ERR_ARGUMENT if CONVOY_CPU_ISA is none of the names that it may be. */
convoy_status cvy_simd_check(void);

#endif
