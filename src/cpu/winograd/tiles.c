/* Tiles of an image as cpu.winograd numbers them, and the rows of input under them. */
#include <string.h>

#include "cpu/shared/range.h"
#include "cpu/winograd/winograd.h"

cvy_cpu_winograd_piece cvy_cpu_winograd_piece_at(const cvy_cpu_winograd_tiling *shape,
                                                 int64_t first, int64_t end, int64_t tile) {
  int64_t row = tile / shape->across, column = tile % shape->across;
  return (cvy_cpu_winograd_piece){.image = row / shape->down,
                                  .row = row % shape->down,
                                  .first = column,
                                  .count = cvy_min(shape->across - column, end - tile),
                                  .at = tile - first};
}

bool cvy_cpu_winograd_input_row(const cvy_cpu_winograd_tiling *shape,
                                const cvy_cpu_winograd_piece *piece, int64_t i,
                                const float *channel, float *to) {
  const cvy_problem *p = &shape->p;
  int64_t h = piece->row * shape->m + i - p->pad[1];
  int64_t count = piece->count * shape->m + shape->n - shape->m;
  int64_t left = piece->first * shape->m - p->pad[2];
  if (h < 0 || h >= p->in[1]) return false;
  cvy_range real = cvy_outputs_inside(p->in[2], count, 1, left);
  memset(to, 0, (size_t)real.begin * sizeof *to);
  if (real.begin < real.end) {
    memcpy(to + real.begin, channel + h * p->in[2] + left + real.begin,
           (size_t)(cvy_range_length(real)) * sizeof *to);
  }
  memset(to + real.end, 0, (size_t)(count - real.end) * sizeof *to);
  return true;
}
