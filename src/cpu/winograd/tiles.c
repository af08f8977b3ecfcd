/* Tiles of an image as cpu.winograd numbers them, and the rows of input under them. */
#include "cpu/winograd/tiles.h"

#include <string.h>

cvy_cpu_winograd_tiling cvy_cpu_winograd_tiling_of(const cvy_problem *p, int64_t m) {
  const cvy_simd *simd = cvy_simd_best();
  cvy_cpu_winograd_tiling t;
  cvy_problem_copy(&t.p, p);
  t.kernel = &simd->microkernel;
  t.m = m;
  t.n = m + 2;
  t.points = t.n * t.n;
  t.transform = m == 4 ? simd->winograd.four : simd->winograd.two;
  t.channels = p->conv.c / p->conv.groups;
  t.outputs = p->conv.k / p->conv.groups;
  t.down = cvy_div_up(p->conv.out[1], m);
  t.across = cvy_div_up(p->conv.out[2], m);
  t.tiles = p->conv.n * t.down * t.across;
  t.kernel_tiles = cvy_div_up(t.outputs, t.kernel->rows);
  return t;
}

cvy_cpu_winograd_piece cvy_cpu_winograd_piece_at(const cvy_cpu_winograd_tiling *t, cvy_range block,
                                                 int64_t tile) {
  int64_t row = tile / t->across, column = tile % t->across;
  return (cvy_cpu_winograd_piece){.image = row / t->down,
                                  .row = row % t->down,
                                  .first = column,
                                  .count = cvy_min(t->across - column, block.end - tile),
                                  .at = tile - block.begin};
}

bool cvy_cpu_winograd_input_row(const cvy_cpu_winograd_tiling *t,
                                const cvy_cpu_winograd_piece *piece, int64_t i,
                                const float *channel, float *to) {
  const cvy_problem *p = &t->p;
  int64_t h = piece->row * t->m + i - p->conv.pad[1];
  int64_t count = piece->count * t->m + t->n - t->m;
  int64_t left = piece->first * t->m - p->conv.pad[2];
  if (h < 0 || h >= p->conv.in[1]) return false;
  cvy_range real = cvy_outputs_inside(p->conv.in[2], count, 1, left);
  memset(to, 0, (size_t)real.begin * sizeof *to);
  if (real.begin < real.end) {
    memcpy(to + real.begin, channel + h * p->conv.in[2] + left + real.begin,
           (size_t)cvy_range_length(real) * sizeof *to);
  }
  memset(to + real.end, 0, (size_t)(count - real.end) * sizeof *to);
  return true;
}
