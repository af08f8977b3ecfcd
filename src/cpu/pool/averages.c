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
  float *line, *sum;      /* the thread's memory, as all that follow */
  float *counted;         /* along w, of each window of a row */
  float *divisor, across; /* the same times `across`, which is counted across z and h */
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

/* Rows of windows that follow one another, of which each meets as many rows of x. */
typedef struct averages_rows {
  int64_t count;
  cvy_range z, h; /* what the first row meets */
  float across;   /* how many rows of x a window's average counts */
} averages_rows;

/* How many rows of a plane of windows end inside of x; some does. */
static int64_t whole_rows(const cvy_pooling_problem *p) {
  return cvy_min((p->in[1] + p->pad[1] - p->window[1]) / p->stride[1] + 1, p->out[1]);
}

/* From `row` on, before `end`. A row whose windows reach beyond x stands alone. */
static averages_rows rows_from(const cvy_pooling_problem *p, int64_t row, int64_t end) {
  const int64_t oz = row / p->out[1], oh = row % p->out[1];
  averages_rows rows = {.count = 1};
  rows.z = cvy_cpu_pool_meets(p, 0, oz);
  rows.h = cvy_cpu_pool_meets(p, 1, oh);
  rows.across = (float)(cvy_pooling_counted(p, 0, oz) * cvy_pooling_counted(p, 1, oh));
  if (cvy_range_length(rows.h) == p->window[1]) rows.count = cvy_min(end - row, whole_rows(p) - oh);
  return rows;
}

/* From the first window of the block's first row to the last one of its last, some that are none
 * among them. */
static int64_t windows_of(const averages_run *run, const averages_block *block) {
  return (cvy_range_length(block->rows) - 1) * run->plan.width + cvy_range_length(block->columns);
}

/* ------------------------------------------------------------------------------ across z and h */

/* The same row of each window: from x to the windows' lines; backward from these. */
static void add_row(const averages_run *run, const averages_block *block, int64_t at_x,
                    int64_t at_line, cvy_copy_rows rows) {
  const cvy_pooling_problem *p = &run->call->problem->pooling;
  const int64_t x_pitch = p->stride[1] * p->in[2], line_pitch = run->plan.width * p->stride[2];
  const bool forward = block->x;
  rows.to = forward ? block->line + at_line : block->dx + at_x;
  rows.from = forward ? block->x + at_x : block->line + at_line;
  rows.to_pitch = forward ? line_pitch : x_pitch;
  rows.from_pitch = forward ? x_pitch : line_pitch;
  run->call->simd->add_rows(&rows);
}

/* Backward, windows of rows that follow one another may meet the same row of x: of different rows
 * of the windows, one is added after the other. */
static void add_rows(const averages_run *run, const averages_block *block) {
  const cvy_pooling_problem *p = &run->call->problem->pooling;
  int64_t begin = block->columns.begin * p->stride[2] - p->pad[2] + block->taps.begin;
  int64_t end =
      begin + (cvy_range_length(block->columns) - 1) * p->stride[2] + cvy_range_length(block->taps);
  int64_t first = cvy_max(begin, 0), length = cvy_min(end, p->in[2]) - first;
  if (length <= 0) return;
  averages_rows rows;
  for (int64_t row = block->rows.begin; row < block->rows.end; row += rows.count) {
    int64_t line = (row - block->rows.begin) * run->plan.width * p->stride[2] + first - begin;
    rows = rows_from(p, row, block->rows.end);
    for (int64_t i = rows.z.begin; i < rows.z.end; i++)
      for (int64_t j = rows.h.begin; j < rows.h.end; j++)
        add_row(run, block, (i * p->in[1] + j) * p->in[2] + first, line,
                (cvy_copy_rows){.rows = rows.count, .length = length});
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

static void find_counted(const averages_run *run, averages_block *block) {
  cvy_range columns = block->columns;
  for (int64_t i = columns.begin; i < columns.end; i++)
    block->counted[i - columns.begin] =
        (float)cvy_pooling_counted(&run->call->problem->pooling, 2, i);
  block->across = -1; /* no count */
}

static void find_divisors(averages_block *block, float across) {
  if (block->across == across) return;
  block->across = across;
  for (int64_t i = 0; i < cvy_range_length(block->columns); i++)
    block->divisor[i] = across * block->counted[i];
}

/* Each window's sum over what it counts; backward its gradient. Rows are `from_pitch` and
 * `to_pitch` floats apart. */
static void divide(const averages_run *run, averages_block *block, const float *from,
                   int64_t from_pitch, float *to, int64_t to_pitch) {
  averages_rows rows;
  for (int64_t row = block->rows.begin; row < block->rows.end; row += rows.count) {
    const int64_t number = row - block->rows.begin;
    rows = rows_from(&run->call->problem->pooling, row, block->rows.end);
    find_divisors(block, rows.across);
    run->call->simd->divide_rows(&(cvy_copy_rows){.to = to + number * to_pitch,
                                                  .from = from + number * from_pitch,
                                                  .to_pitch = to_pitch,
                                                  .from_pitch = from_pitch,
                                                  .rows = rows.count,
                                                  .length = cvy_range_length(block->columns)},
                                 block->divisor);
  }
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
  divide(run, block, block->sum, run->plan.width, y + block->rows.begin * p->out[2], p->out[2]);
}

static void spread_block(const averages_run *run, averages_block *block, int64_t map) {
  const cvy_problem *problem = run->call->problem;
  const cvy_pooling_problem *p = &problem->pooling;
  const float *dy = run->call->in[0] + cvy_cpu_pool_y_place(problem, map) + block->columns.begin;
  block->dx = run->call->out[0] + cvy_cpu_pool_dx_place(problem, map);
  clear_sums(run, block);
  divide(run, block, dy + block->rows.begin * p->out[2], p->out[2], block->sum, run->plan.width);
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
  averages_block block = {.line = memory,
                          .sum = memory + BLOCK,
                          .counted = memory + 2 * BLOCK,
                          .divisor = memory + 2 * BLOCK + BLOCK / 2};
  for (int64_t unit = begin; unit < end; unit++) {
    block.rows = cvy_cut_part(plan->rows, p->out[0] * p->out[1], unit % plan->rows.count);
    for (int64_t i = 0; i < plan->columns.count; i++) {
      block.columns = cvy_cut_part(plan->columns, p->out[2], i);
      find_counted(run, &block);
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
