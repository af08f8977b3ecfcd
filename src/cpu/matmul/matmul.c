/* cpu.matmul: blocks of the result on the engine's microkernel. A thread packs the rows of a that a
 * block needs, some terms of them, and one strip of b's columns after the other, and sums in the
 * result. It takes every product, and needs nothing but its workspace. */
#include "cpu/matmul/matmul.h"

#include <string.h>

#include "cpu/threads/heartbeat.h"

/* Of a block: what is packed of a stays in the L2 cache, and is packed once for so many columns. */
#define ROWS 256
#define COLUMNS 384
#define TERMS 256 /* that are packed together */

typedef struct tiles_run {
  const cvy_cpu_call *call;
  cvy_cpu_matmul_plan plan;
} tiles_run;

/* A thread's memory. */
typedef struct tiles_memory {
  float *a; /* [tile of rows][term][row] */
  float *b; /* [term][column] of a strip */
} tiles_memory;

enum { A_FLOATS = ROWS * TERMS, B_FLOATS = TERMS * CVY_CPU_MATMUL_STRIP };
enum { SLOT_FLOATS = A_FLOATS + B_FLOATS };

static tiles_memory memory_at(const tiles_run *run, int32_t slot) {
  float *at = (float *)run->call->workspace + (int64_t)slot * SLOT_FLOATS;
  return (tiles_memory){at, at + A_FLOATS};
}

/* Some of a matrix as it lies: `lines` rows of `length`, the first `pitch` floats from the next. */
typedef struct matrix_part {
  const float *at;
  int64_t pitch, lines, length;
} matrix_part;

/* to[i][j] = from[j][i], or the same as it lies; places of `width` beyond are 0. */
static void pack(const cvy_simd *simd, const matrix_part *from, bool swaps, float *to,
                 int64_t width) {
  int64_t across = swaps ? from->lines : from->length, along = swaps ? from->length : from->lines;
  if (across < width) memset(to, 0, (size_t)(along * width) * sizeof *to);
  if (swaps) {
    simd->transpose(to, width, from->at, from->pitch, from->lines, from->length);
    return;
  }
  simd->gather_rows(&(cvy_copy_rows){to, from->at, width, from->pitch, along, across}, 1);
}

/* Rows `begin` and so many behind of the block's a, or columns of its b: some terms of them.
 * `swaps` where the array has a row for each. */
static matrix_part part_of(const float *matrix, int64_t pitch, bool swaps, cvy_range some,
                           cvy_range terms) {
  int64_t count = cvy_range_length(some), depth = cvy_range_length(terms);
  if (swaps) return (matrix_part){matrix + some.begin * pitch + terms.begin, pitch, count, depth};
  return (matrix_part){matrix + terms.begin * pitch + some.begin, pitch, depth, count};
}

static void pack_rows(const tiles_run *run, const float *a, int64_t rows, int64_t tile,
                      cvy_range terms, float *to) {
  const cvy_matmul_products *of = &run->plan.of;
  for (int64_t row = 0; row < rows; row += tile, to += tile * cvy_range_length(terms)) {
    cvy_range some = {row, cvy_min(row + tile, rows)};
    matrix_part from = part_of(a, of->a.row, !of->p.a_transposed, some, terms);
    pack(run->call->simd, &from, !of->p.a_transposed, to, tile);
  }
}

/* A tile that juts out over the result: its sums are made beside it. */
static void multiply_edge(const cvy_simd *simd, const cvy_microkernel *kernel,
                          cvy_microkernel_tile tile, int64_t rows, int64_t columns) {
  float sum[CVY_CPU_MATMUL_TILE * CVY_CPU_MATMUL_STRIP];
  cvy_copy_rows there = {sum, tile.y, CVY_CPU_MATMUL_STRIP, tile.y_pitch, rows, columns};
  cvy_copy_rows back = {tile.y, sum, tile.y_pitch, CVY_CPU_MATMUL_STRIP, rows, columns};
  if (tile.add) {
    memset(sum, 0, sizeof sum);
    simd->gather_rows(&there, 1);
  }
  tile.y = sum;
  tile.y_pitch = CVY_CPU_MATMUL_STRIP;
  kernel->run[cvy_div_up(columns, kernel->width) - 1](&tile);
  simd->gather_rows(&back, 1);
}

/* The sums of a strip of columns, of all rows of the block. */
static void multiply_strip(const tiles_run *run, const tiles_memory *memory,
                           const cvy_cpu_matmul_block *block, cvy_range columns, int64_t depth,
                           bool add) {
  static const int64_t only_tap = 0;
  const cvy_microkernel *kernel = cvy_microkernel_for(run->call->simd, block->rows);
  int64_t count = cvy_range_length(columns), vectors = cvy_div_up(count, kernel->width);
  cvy_microkernel_tile tile = {.x = memory->b,
                               .w = memory->a,
                               .y = block->y + columns.begin,
                               .tap = &only_tap,
                               .taps = 1,
                               .channels = depth,
                               .block = cvy_sum_block(1),
                               .x_pitch = vectors * kernel->width,
                               .y_pitch = run->plan.of.y.row,
                               .add = add};
  for (int64_t row = 0; row < block->rows; row += kernel->rows) {
    int64_t rows = cvy_min(kernel->rows, block->rows - row);
    if (rows == kernel->rows && count == tile.x_pitch)
      kernel->run[vectors - 1](&tile);
    else
      multiply_edge(run->call->simd, kernel, tile, rows, count);
    tile.w += kernel->rows * depth;
    tile.y += kernel->rows * tile.y_pitch;
  }
}

static void add_terms(const tiles_run *run, const tiles_memory *memory,
                      const cvy_cpu_matmul_block *block, int64_t product, cvy_range terms,
                      bool add) {
  const cvy_matmul_products *of = &run->plan.of;
  const cvy_microkernel *kernel = cvy_microkernel_for(run->call->simd, block->rows);
  const float *b = block->b + product * of->b.step;
  int64_t least = cvy_div_up(block->columns, cvy_microkernel_columns(kernel));
  cvy_cut strips = cvy_cut_into(block->columns, least, kernel->width);
  pack_rows(run, block->a + product * of->a.step, block->rows, kernel->rows, terms, memory->a);
  for (int64_t i = 0; i < strips.count; i++) {
    cvy_range columns = cvy_cut_part(strips, block->columns, i);
    matrix_part from = part_of(b, of->b.row, of->p.b_transposed, columns, terms);
    pack(run->call->simd, &from, of->p.b_transposed, memory->b,
         cvy_align_up(cvy_range_length(columns), kernel->width));
    multiply_strip(run, memory, block, columns, cvy_range_length(terms), add);
  }
  cvy_heartbeat_tick();
}

static void clear(const tiles_run *run, const cvy_cpu_matmul_block *block) {
  for (int64_t row = 0; row < block->rows; row++)
    memset(block->y + row * run->plan.of.y.row, 0, (size_t)block->columns * sizeof *block->y);
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const tiles_run *run = arg;
  tiles_memory memory = memory_at(run, slot);
  cvy_cut terms = cvy_cut_by(run->plan.of.p.k, TERMS);
  for (int64_t i = begin; i < end; i++) {
    cvy_cpu_matmul_block block = cvy_cpu_matmul_block_at(&run->plan, run->call, i);
    bool add = run->plan.accumulate;
    if (terms.count == 0 && !add) clear(run, &block);
    for (int64_t product = 0; product < block.products; product++) {
      for (int64_t t = 0; t < terms.count; t++, add = true)
        add_terms(run, &memory, &block, product, cvy_cut_part(terms, run->plan.of.p.k, t), add);
    }
  }
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)problem;
  (void)params;
  return (int64_t)facts->info.compute_units * SLOT_FLOATS * (int64_t)sizeof(float);
}

static void run(const cvy_cpu_call *call) {
  tiles_run self = {call, cvy_cpu_matmul_plan_for(call->problem, call->facts, ROWS, COLUMNS)};
  cvy_parallel_items(call->threads, self.plan.blocks, make_blocks, &self);
}

const cvy_cpu_row cvy_cpu_matmul = {{.name = "cpu.matmul",
                                     .operations = CVY_OPERATION_BIT(CVY_MATMUL),
                                     .workspace = workspace,
                                     .conservative = true},
                                    run};
