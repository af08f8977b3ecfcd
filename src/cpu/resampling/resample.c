/* cpu.resample: rows of y. Which elements of x they meet is found once for each axis. Forward a
 * thread makes rows of y, backward it adds what all rows of a map give to the map's part of dx. */
#include "cpu/resampling/resample.h"

#include <string.h>

#include "cpu/shared/sizes.h"
#include "cpu/threads/heartbeat.h"

/* Places of all axes, in words of 4 bytes, of which each has three lists. */
static int64_t place_words(const cvy_resampling_problem *p) {
  return 3 * (p->out[0] + p->out[1] + p->out[2]);
}

static int64_t row_words(const cvy_problem *problem) {
  return cvy_resampling_is_linear(problem) ? cvy_align_up(problem->resampling.in[2], 16) : 0;
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  int64_t threads = (int64_t)facts->info.compute_units;
  (void)params;
  return (cvy_align_up(place_words(&problem->resampling), 16) + threads * row_words(problem)) *
         (int64_t)sizeof(float);
}

static void find_places(const cvy_resampling_problem *p, void *workspace_of, cvy_cpu_places *out) {
  int32_t *next = workspace_of;
  for (int axis = 0; axis < 3; axis++) {
    int64_t count = p->out[axis];
    out->low[axis] = next;
    out->high[axis] = next + count;
    out->weight[axis] = (float *)(void *)(next + 2 * count);
    next += 3 * count;
    for (int64_t o = 0; o < count; o++) {
      cvy_resampling_place at = cvy_resampling_place_of(p, axis, o);
      out->low[axis][o] = (int32_t)at.low;
      out->high[axis][o] = (int32_t)at.high;
      out->weight[axis][o] = at.weight;
    }
  }
}

/* Corners across a row, of which those with the same row of x come apart. */
static cvy_cpu_sources find_sources(const cvy_cpu_resampling *run, int64_t oz, int64_t oh) {
  const cvy_resampling_problem *p = run->p;
  const cvy_cpu_places *at = &run->places;
  cvy_cpu_sources out = {.count = 0};
  bool linear = cvy_resampling_is_linear(run->call->problem);
  int z_corners = linear && p->in[0] > 1 ? 2 : 1, h_corners = linear && p->in[1] > 1 ? 2 : 1;
  for (int z = 0; z < z_corners; z++) {
    for (int h = 0; h < h_corners; h++) {
      int64_t plane = z ? at->high[0][oz] : at->low[0][oz];
      int64_t row = h ? at->high[1][oh] : at->low[1][oh];
      float z_weight = z ? at->weight[0][oz] : z_corners > 1 ? 1.0f - at->weight[0][oz] : 1.0f;
      float h_weight = h ? at->weight[1][oh] : h_corners > 1 ? 1.0f - at->weight[1][oh] : 1.0f;
      out.row[out.count] = (plane * p->in[1] + row) * p->in[2];
      out.weight[out.count++] = z_weight * h_weight;
    }
  }
  return out;
}

/* Where a map of all images lies in x and in y. */
static int64_t x_map(const cvy_problem *problem, int64_t map) {
  return cvy_resampling_map(problem, cvy_resampling_x_pitch(problem),
                            cvy_resampling_in_volume(problem), map);
}
static int64_t y_map(const cvy_problem *problem, int64_t map) {
  return cvy_resampling_map(problem, cvy_resampling_y_pitch(problem),
                            cvy_resampling_out_volume(problem), map);
}

static void make_rows(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_resampling *run = arg;
  const cvy_resampling_problem *p = run->p;
  float *room = run->rows + slot * row_words(run->call->problem);
  for (int64_t row = begin; row < end; row++, cvy_heartbeat_tick()) {
    int64_t rows = p->out[0] * p->out[1], map = row / rows;
    cvy_cpu_sources from = find_sources(run, row / p->out[1] % p->out[0], row % p->out[1]);
    cvy_cpu_resample_row(
        run, &from, run->call->in[0] + x_map(run->call->problem, map),
        run->call->out[0] + y_map(run->call->problem, map) + row % rows * p->out[2], room);
  }
}

static void make_maps(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_resampling *run = arg;
  const cvy_resampling_problem *p = run->p;
  int64_t volume = cvy_resampling_in_volume(run->call->problem), rows = p->out[0] * p->out[1];
  float *room = run->rows + slot * row_words(run->call->problem);
  for (int64_t map = begin; map < end; map++) {
    const float *dy = run->call->in[0] + y_map(run->call->problem, map);
    float *dx = run->call->out[0] + x_map(run->call->problem, map);
    memset(dx, 0, (size_t)volume * sizeof *dx);
    for (int64_t row = 0; row < rows; row++, cvy_heartbeat_tick()) {
      cvy_cpu_sources from = find_sources(run, row / p->out[1], row % p->out[1]);
      cvy_cpu_resample_row_backward(run, &from, dy + row * p->out[2], dx, room);
    }
  }
}

static void run_resample(const cvy_cpu_call *call) {
  const cvy_resampling_problem *p = &call->problem->resampling;
  cvy_cpu_resampling run = {call, p, .rows = NULL};
  int64_t maps = p->n * p->c;
  find_places(p, call->workspace, &run.places);
  run.rows = (float *)call->workspace + cvy_align_up(place_words(p), 16);
  if (cvy_resampling_is_backward(call->problem))
    cvy_parallel_items(call->threads, maps, make_maps, &run);
  else
    cvy_parallel_for(call->threads, maps * p->out[0] * p->out[1], make_rows, &run);
}

const cvy_cpu_row cvy_cpu_resample = {{.name = "cpu.resample",
                                       .operations = CVY_RESAMPLING_ALL,
                                       .workspace = workspace,
                                       .conservative = true},
                                      run_resample};
