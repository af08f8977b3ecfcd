/* The contract of the microkernel, which computes one tile of outputs and keeps it in registers
 * over all products.
 *
 *   y[r][i] (+)= sum over c, t of w[c][t][r] x[c x_pitch + tap[t] + i],  r < rows, i < columns
 *
 * `rows` are output channels. `columns` are neighbouring places of a plane (cpu/shared/planes.h):
 * one, two or three vectors, as few as the last strip of a plane needs. All rows and columns are
 * computed, so what lies there in w, x and y must be readable and writable, and the caller drops
 * what comes of places that are no output. Nothing need be aligned.
 *
 * Sums are made of blocks: the products of `block` channels are summed in registers from 0, and the
 * blocks of all calls are added to y in order. A long chain of sums errs in proportion to its
 * length, blocks and a chain of blocks err like the lengths of both (docs/decisions/056). */
#ifndef CVY_CPU_ISA_MICROKERNEL_H
#define CVY_CPU_ISA_MICROKERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cvy_microkernel_tile {
  const float *x, *w;
  float *y;
  const int64_t *tap;
  int64_t taps, channels;
  int64_t block; /* channels, at least one: cvy_sum_block() */
  int64_t x_pitch, y_pitch;
  bool add; /* the sums are added to what y holds, else y is not read */
} cvy_microkernel_tile;

#define CVY_SUM_TERMS 128 /* of a block of a sum */

/* How many channels of so many taps are a block of a sum. */
static inline int64_t cvy_sum_block(int64_t taps) {
  return taps < 1 ? CVY_SUM_TERMS : taps < CVY_SUM_TERMS ? CVY_SUM_TERMS / taps : 1;
}

#define CVY_MICROKERNEL_VECTORS 3

typedef struct cvy_microkernel {
  int64_t rows, width; /* of a tile, and of a vector in places */
  void (*run[CVY_MICROKERNEL_VECTORS])(
      const cvy_microkernel_tile *tile); /* for 1, 2 and 3 vectors */
} cvy_microkernel;

/* The places of the widest tile. */
static inline int64_t cvy_microkernel_columns(const cvy_microkernel *kernel) {
  return CVY_MICROKERNEL_VECTORS * kernel->width;
}

#endif
