/* Body of the microkernel. The including file sets TILE_ROWS so that the sums, the vectors of x and
 * one weight fill the registers there are, and NARROW_ROWS for problems of so few outputs that most
 * of these would be idle. */
#include "cpu/isa/microkernel.h"

#define TILE_VECTORS 3

/* Keeps a value alive up to here. Without this, GCC puts a sum in the place of a factor that it
 * needs no more, and moves the sum back for the next products. */
ALWAYS void needed(vector v) {
#if IN_REGISTER
  __asm__("" : : "v"(v));
#else
  (void)v;
#endif
}

/* Adds the products of one channel and tap. */
ALWAYS void multiply(vector sum[TILE_ROWS][TILE_VECTORS], const float *x, const float *w,
                     const int rows, const int vectors) {
  vector from[TILE_VECTORS];
  UNROLL(8)
  for (int v = 0; v < vectors; v++) from[v] = load(x + v * WIDTH);
  UNROLL(8)
  for (int r = 0; r < rows; r++) {
    vector weight = w[r] - (vector){0};
    UNROLL(8)
    for (int v = 0; v < vectors; v++) sum[r][v] += weight * from[v];
    needed(weight);
  }
  UNROLL(8)
  for (int v = 0; v < vectors; v++) needed(from[v]);
}

/* The sum of a block of channels. With one tap, AVX2 has few instructions to spare beside 12
 * products, so the list of taps is not looked at in the loop. */
ALWAYS void sum_block(vector sum[TILE_ROWS][TILE_VECTORS], const cvy_microkernel_tile *t,
                      const float *x, const float *w, int64_t channels, const int rows,
                      const int vectors) {
  UNROLL(8)
  for (int r = 0; r < rows; r++) {
    UNROLL(8)
    for (int v = 0; v < vectors; v++) sum[r][v] = (vector){0};
  }
  if (t->taps == 1) {
    x += t->tap[0];
    for (int64_t c = channels; c > 0; c--, x += t->x_pitch, w += rows)
      multiply(sum, x, w, rows, vectors);
    return;
  }
  for (int64_t c = 0; c < channels; c++, x += t->x_pitch) {
    for (int64_t i = 0; i < t->taps; i++, w += rows) multiply(sum, x + t->tap[i], w, rows, vectors);
  }
}

/* This is unrolled in full, once for each number of vectors, because the compiler keeps an array in
 * registers only if all its indices are constants. */
ALWAYS void put_block(vector sum[TILE_ROWS][TILE_VECTORS], const cvy_microkernel_tile *t, bool add,
                      const int rows, const int vectors) {
  if (add) {
    UNROLL(8)
    for (int r = 0; r < rows; r++) {
      UNROLL(8)
      for (int v = 0; v < vectors; v++) sum[r][v] += load(t->y + r * t->y_pitch + v * WIDTH);
    }
  }
  UNROLL(8)
  for (int r = 0; r < rows; r++) {
    UNROLL(8)
    for (int v = 0; v < vectors; v++) store(t->y + r * t->y_pitch + v * WIDTH, sum[r][v]);
  }
}

/* Without channels the sum is 0. */
ALWAYS void tile_of(const cvy_microkernel_tile *t, const int rows, const int vectors) {
  vector sum[TILE_ROWS][TILE_VECTORS];
  const float *x = t->x, *w = t->w;
  int64_t left = t->channels;
  bool add = t->add;
  do {
    int64_t some = left < t->block ? left : t->block;
    sum_block(sum, t, x, w, some, rows, vectors);
    put_block(sum, t, add, rows, vectors);
    x += some * t->x_pitch;
    w += some * t->taps * rows;
    left -= some;
    add = true;
  } while (left > 0);
}

static void tile_1(const cvy_microkernel_tile *t) {
  tile_of(t, TILE_ROWS, 1);
}

static void tile_2(const cvy_microkernel_tile *t) {
  tile_of(t, TILE_ROWS, 2);
}

static void tile_3(const cvy_microkernel_tile *t) {
  tile_of(t, TILE_ROWS, 3);
}

static void narrow_1(const cvy_microkernel_tile *t) {
  tile_of(t, NARROW_ROWS, 1);
}

static void narrow_2(const cvy_microkernel_tile *t) {
  tile_of(t, NARROW_ROWS, 2);
}

static void narrow_3(const cvy_microkernel_tile *t) {
  tile_of(t, NARROW_ROWS, 3);
}
