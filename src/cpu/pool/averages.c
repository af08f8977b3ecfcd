/* Averages. A window's sum is one along w of sums across z and h, so blocks of windows are made in
 * two steps: each row of windows gets a line, the sum of the rows of x that it meets, which lie in
 * one piece; then lines are summed along w, all at once, since the windows of a line follow those
 * of the line before it at the same distance. Backward it is the same the other way round. */
#include <string.h>

#include "cpu/pool/pool.h"
#include "cpu/shared/cut.h"
#include "cpu/threads/heartbeat.h"

enum { BLOCK = 4096 }; /* floats of a block's lines: a first-level cache has room for two such */
_Static_assert(CVY_CPU_POOL_FLOATS >= 3 * BLOCK, "a thread's memory has a block's arrays");

/* How a map's windows are cut into blocks. */
typedef struct averages_plan {
  cvy_cut columns; /* of a row of windows */
  cvy_cut rows;    /* more than one in a block only where columns are not cut */
  cvy_cut taps;    /* of a window, along w, one part after the other */
  int64_t width;   /* from the first window of a row to that of the next, in a block */
} averages_plan;

/* One block of a map. */
typedef struct averages_block {
  cvy_range rows, columns, taps;
  const float *x; /* the map; backward NULL */
  float *dx;
  float *line, *sum, *divisor; /* the thread's memory */
} averages_block;

typedef struct averages_run averages_run;
struct averages_run {
  const cvy_cpu_call *call;
  averages_plan plan;
  void (*make)(const averages_run *run, averages_block *block, int64_t map);
};

static averages_plan plan_for(const cvy_pooling_problem *p) {
  averages_plan plan;
  int64_t step = p->stride[2];
  int64_t columns = cvy_min(p->out[2], cvy_max(BLOCK / 2 / step, 1));
  plan.columns = cvy_cut_by(p->out[2], columns);
  plan.taps = cvy_cut_by(p->window[2], cvy_min(p->window[2], BLOCK - (columns - 1) * step));
  plan.width = cvy_div_up((columns - 1) * step + plan.taps.size, step);
  int64_t rows = plan.columns.count == 1 ? BLOCK / (plan.width * step) : 1;
  plan.rows = cvy_cut_by(p->out[0] * p->out[1], cvy_max(rows, 1));
  return plan;
}

/* Which windows a row of a map has, along z and h. */
typedef struct row_place {
  int64_t oz, oh;
} row_place;

/* Rows are many and short: a division takes as long as adding one. */
static row_place place_of(const cvy_pooling_problem *p, int64_t row) {
  int64_t oz = p->out[0] == 1 ? 0 : row / p->out[1];
  return (row_place){oz, row - oz * p->out[1]};
}

/* From the first window of the block's first row to the last one of its last, some that are none
 * among them. */
static int64_t windows_of(const averages_run *run, const averages_block *block) {
  return (cvy_range_length(block->rows) - 1) * run->plan.width + cvy_range_length(block->columns);
}

/* ------------------------------------------------------------------------------ across z and h */

static void add_row(const averages_run *run, const averages_block *block, int64_t at_x,
                    int64_t at_line, int64_t length) {
  float *to = block->x ? block->line + at_line : block->dx + at_x;
  const float *from = block->x ? block->x + at_x : block->line + at_line;
  run->call->simd->axpy(to, 1, from, 1, 1.0f, length);
}

/* The rows of x that windows meet, to the windows' lines; backward from these. */
static void add_rows(const averages_run *run, const averages_block *block) {
  const cvy_pooling_problem *p = &run->call->problem->pooling;
  int64_t begin = block->columns.begin * p->stride[2] - p->pad[2] + block->taps.begin;
  int64_t end =
      begin + (cvy_range_length(block->columns) - 1) * p->stride[2] + cvy_range_length(block->taps);
  int64_t first = cvy_max(begin, 0), length = cvy_min(end, p->in[2]) - first;
  if (length <= 0) return;
  for (int64_t row = block->rows.begin; row < block->rows.end; row++) {
    int64_t line = (row - block->rows.begin) * run->plan.width * p->stride[2] + first - begin;
    row_place at = place_of(p, row);
    cvy_range z = cvy_cpu_pool_meets(p, 0, at.oz), h = cvy_cpu_pool_meets(p, 1, at.oh);
    for (int64_t i = z.begin; i < z.end; i++)
      for (int64_t j = h.begin; j < h.end; j++)
        add_row(run, block, (i * p->in[1] + j) * p->in[2] + first, line, length);
  }
}

/* ------------------------------------------------------------------------------------- along w */

static void clear_lines(const averages_run *run, const averages_block *block) {
  int64_t step = run->call->problem->pooling.stride[2];
  int64_t length = (windows_of(run, block) - 1) * step + cvy_range_length(block->taps);
  memset(block->line, 0, (size_t)length * sizeof *block->line);
}

static void clear_sums(const averages_run *run, const averages_block *block) {
  memset(block->sum, 0, (size_t)windows_of(run, block) * sizeof *block->sum);
}

static void find_divisors(const averages_run *run, const averages_block *block) {
  cvy_range columns = block->columns;
  for (int64_t i = columns.begin; i < columns.end; i++)
    block->divisor[i - columns.begin] =
        (float)cvy_pooling_counted(&run->call->problem->pooling, 2, i);
}

/* to[i] = from[i] over what window i of a row counts. */
static void divide(const averages_run *run, const averages_block *block, int64_t row,
                   const float *from, float *to) {
  const cvy_pooling_problem *p = &run->call->problem->pooling;
  row_place at = place_of(p, row);
  float across = (float)(cvy_pooling_counted(p, 0, at.oz) * cvy_pooling_counted(p, 1, at.oh));
  int64_t columns = cvy_range_length(block->columns);
  for (int64_t i = 0; i < columns; i++) to[i] = from[i] / (across * block->divisor[i]);
}

/* ---------------------------------------------------------------------------------------- blocks
 */

static void make_block(const averages_run *run, averages_block *block, int64_t map) {
  const cvy_problem *problem = run->call->problem;
  const cvy_pooling_problem *p = &problem->pooling;
  float *y = run->call->out[0] + cvy_cpu_pool_y_place(problem, map) + block->columns.begin;
  block->x = run->call->in[0] + cvy_cpu_pool_x_place(problem, map);
  clear_sums(run, block);
  for (int64_t i = 0; i < run->plan.taps.count; i++, cvy_heartbeat_tick()) {
    block->taps = cvy_cut_part(run->plan.taps, p->window[2], i);
    clear_lines(run, block);
    add_rows(run, block);
    for (int64_t s = 0; s < cvy_range_length(block->taps); s++)
      run->call->simd->axpy(block->sum, 1, block->line + s, p->stride[2], 1.0f,
                            windows_of(run, block));
  }
  for (int64_t row = block->rows.begin; row < block->rows.end; row++)
    divide(run, block, row, block->sum + (row - block->rows.begin) * run->plan.width,
           y + row * p->out[2]);
}

static void spread_block(const averages_run *run, averages_block *block, int64_t map) {
  const cvy_problem *problem = run->call->problem;
  const cvy_pooling_problem *p = &problem->pooling;
  const float *dy = run->call->in[0] + cvy_cpu_pool_y_place(problem, map) + block->columns.begin;
  block->dx = run->call->out[0] + cvy_cpu_pool_dx_place(problem, map);
  clear_sums(run, block);
  for (int64_t row = block->rows.begin; row < block->rows.end; row++)
    divide(run, block, row, dy + row * p->out[2],
           block->sum + (row - block->rows.begin) * run->plan.width);
  for (int64_t i = 0; i < run->plan.taps.count; i++, cvy_heartbeat_tick()) {
    block->taps = cvy_cut_part(run->plan.taps, p->window[2], i);
    clear_lines(run, block);
    for (int64_t s = 0; s < cvy_range_length(block->taps); s++)
      run->call->simd->axpy(block->line + s, p->stride[2], block->sum, 1, 1.0f,
                            windows_of(run, block));
    add_rows(run, block);
  }
}

/* Blocks of rows of all maps. */
static void do_rows(const averages_run *run, int64_t begin, int64_t end, int32_t slot) {
  const cvy_pooling_problem *p = &run->call->problem->pooling;
  const averages_plan *plan = &run->plan;
  float *memory = (float *)run->call->workspace + (int64_t)slot * CVY_CPU_POOL_FLOATS;
  averages_block block = {
      .line = memory, .sum = memory + BLOCK, .divisor = memory + (int64_t)2 * BLOCK};
  for (int64_t unit = begin; unit < end; unit++) {
    block.rows = cvy_cut_part(plan->rows, p->out[0] * p->out[1], unit % plan->rows.count);
    for (int64_t i = 0; i < plan->columns.count; i++) {
      block.columns = cvy_cut_part(plan->columns, p->out[2], i);
      find_divisors(run, &block);
      run->make(run, &block, unit / plan->rows.count);
    }
  }
}

static void make_blocks(void *arg, int64_t begin, int64_t end, int32_t slot) {
  do_rows(arg, begin, end, slot);
}

void cvy_cpu_average_pool(const cvy_cpu_call *call) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  averages_run run = {call, plan_for(p), make_block};
  cvy_parallel_items(call->threads, p->n * p->c * run.plan.rows.count, make_blocks, &run);
}

/* Windows of different blocks may overlap, so a thread takes whole maps. */
static void spread_maps(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const averages_run *run = arg;
  for (int64_t map = begin; map < end; map++) {
    cvy_cpu_pool_clear(run->call, map);
    do_rows(run, map * run->plan.rows.count, (map + 1) * run->plan.rows.count, slot);
  }
}

void cvy_cpu_average_pool_backward(const cvy_cpu_call *call) {
  const cvy_pooling_problem *p = &call->problem->pooling;
  averages_run run = {call, plan_for(p), spread_block};
  cvy_parallel_items(call->threads, p->n * p->c, spread_maps, &run);
}
