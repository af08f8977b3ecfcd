/* Pieces of results, shared out to threads, and then put together. */
#include "cpu/program/reduce.h"

#include <math.h>
#include <string.h>

#include "cpu/program/values.h"

enum {
  LANES = CVY_REDUCE_LANES, /* of one result, or neighbouring results of a lane each */
  GROUP = CVY_REDUCE_GROUP,
  VALUES =
      GROUP * LANES + 80, /* of one of the program's results; not at the same places of pages */
  SCRATCH = CVY_VALUES_SCRATCH + CVY_PROGRAM_RESULTS * VALUES + CVY_REDUCE_COMPONENTS * LANES
};

typedef struct reduce_job {
  const cvy_reduce_call *call;
  cvy_program_values values;
  cvy_reduce_parts parts;
  cvy_reduce_order order;
  int64_t blocks; /* of neighbouring results that are computed together */
  float *partial; /* [piece][component][kept] */
} reduce_job;

/* A thread's memory. */
typedef struct thread_memory {
  float *gather, *value[CVY_PROGRAM_RESULTS];
  float *state[CVY_REDUCE_COMPONENTS];
} thread_memory;

static thread_memory memory_at(const reduce_job *j, int32_t slot) {
  thread_memory b;
  float *at = (float *)j->call->workspace + (int64_t)slot * SCRATCH;
  b.gather = at;
  at += CVY_VALUES_SCRATCH;
  for (int k = 0; k < CVY_PROGRAM_RESULTS; k++, at += VALUES) b.value[k] = at;
  for (int i = 0; i < CVY_REDUCE_COMPONENTS; i++, at += LANES) b.state[i] = at;
  return b;
}

static int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

int64_t cvy_reduce_arrays_workspace(const cvy_reduce_problem *problem, int32_t threads) {
  cvy_reduce_order order = cvy_reduce_order_of(problem);
  int64_t partial = order.pieces * order.kept * cvy_reduce_parts_of(&problem->how).components;
  return ((int64_t)threads * SCRATCH + round_up(partial, 16)) * (int64_t)sizeof(float);
}

/* --------------------------------------------------------------------------------------- pieces */

/* Lanes that are used, with those behind them that join_lanes reads; side by side there is one for
 * each of many results. */
static int width_of(const reduce_job *j) {
  if (j->order.lanes == 1) return LANES;
  return j->order.lanes < 2 * CVY_WIDEST ? 2 * CVY_WIDEST : j->order.lanes;
}

static void set_nothing(const reduce_job *j, const thread_memory *b) {
  int width = width_of(j);
  for (int i = 0; i < j->parts.components; i++)
    memset(b->state[i], 0, (size_t)width * sizeof(float));
  for (int p = 0; p < j->parts.count; p++) {
    float *state = b->state[j->parts.part[p].first];
    float nothing = cvy_part_of_nothing(j->parts.part[p].kind);
    for (int l = 0; nothing != 0.0f && l < width; l++) state[l] = nothing;
  }
}

/* The program's values for elements of the nest that follow one another, from place `to` on. */
static void compute_values(const reduce_job *j, const thread_memory *b, cvy_program_cursor at,
                           int64_t count, int64_t to) {
  float *result[CVY_PROGRAM_RESULTS];
  for (int64_t length; count > 0; count -= length, to += length) {
    length = cvy_program_values_length(&j->values, &at, count);
    for (int k = 0; k < j->values.plan.results; k++) result[k] = b->value[k] + to;
    cvy_program_cursor next = at;
    cvy_program_nest_go_on(&j->values.nest, &next, length);
    cvy_program_values_ask_ahead(&j->values, &next);
    cvy_program_values_run(&j->values, &at, length, result, b->gather);
    at = next;
  }
}

/* The values of so many elements, where they lie already or where they are computed. */
static void find_values(const reduce_job *j, const thread_memory *b, int64_t first, int64_t count,
                        const float **value) {
  cvy_program_cursor at = cvy_program_nest_at(&j->values.nest, first);
  const float *lying = cvy_program_values_lying(&j->values, &at, count);
  if (!lying) compute_values(j, b, at, count, 0);
  for (int k = 0; k < j->values.plan.results; k++) value[k] = lying ? lying : b->value[k];
}

/* Takes up rows of the values in lanes `first` to `first + count` - 1. */
static void take_up(const reduce_job *j, const thread_memory *b, const float *const *value,
                    int64_t pitch, int rows, int64_t first, int64_t count) {
  if (rows == 0 || count == 0) return;
  for (int p = 0; p < j->parts.count; p++) {
    int kind = j->parts.part[p].kind;
    float *state[3];
    for (int i = 0; i < cvy_part_components(kind); i++)
      state[i] = b->state[j->parts.part[p].first + i] + first;
    j->call->simd->rows[kind](state, value[j->parts.part[p].value] + first, pitch, rows, count);
  }
}

/* The upper half of the lanes into the lower, until one is left. */
static void join_lanes(const reduce_job *j, const thread_memory *b) {
  for (int half = j->order.lanes / 2; half; half /= 2) {
    for (int p = 0; p < j->parts.count; p++) {
      int kind = j->parts.part[p].kind;
      float *state[3], *other[3];
      for (int i = 0; i < cvy_part_components(kind); i++) {
        state[i] = b->state[j->parts.part[p].first + i];
        other[i] = state[i] + half;
      }
      /* Whole vectors: what becomes of lanes from `half` on makes no difference any more. */
      j->call->simd->join[kind](state, other, half < CVY_WIDEST ? CVY_WIDEST : half);
    }
  }
}

/* Elements `begin` to `end` - 1 of one result, spread over the lanes. */
static void piece_in_lanes(const reduce_job *j, const thread_memory *b, int64_t kept, int64_t begin,
                           int64_t end) {
  int lanes = j->order.lanes;
  int64_t step = (int64_t)GROUP * lanes;
  for (int64_t at = begin; at < end; at += step) {
    int64_t count = end - at < step ? end - at : step;
    int rows = (int)(count / lanes), more = (int)(count % lanes); /* lanes that have one more */
    const float *value[CVY_PROGRAM_RESULTS];
    find_values(j, b, kept * j->order.length + at, count, value);
    take_up(j, b, value, lanes, rows + 1, 0, more);
    take_up(j, b, value, lanes, rows, more, lanes - more);
  }
  join_lanes(j, b);
}

/* Elements `begin` to `end` - 1 of neighbouring results, a lane each. */
static void piece_side_by_side(const reduce_job *j, const thread_memory *b, int64_t kept,
                               int64_t count, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += GROUP) {
    int rows = (int)(end - at < GROUP ? end - at : GROUP);
    for (int r = 0; r < rows; r++)
      compute_values(j, b, cvy_program_nest_at(&j->values.nest, (at + r) * j->order.kept + kept),
                     count, (int64_t)r * LANES);
    take_up(j, b, (const float *const *)b->value, LANES, rows, 0, count);
  }
}

/* Results first, then pieces: a channel's piece lies behind the one of the channel before it, and
 * a loop that reads memory in its order does not wait for it. */
static void run_pieces(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const reduce_job *j = arg;
  thread_memory b = memory_at(j, slot);
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t piece = unit / j->blocks, block = unit % j->blocks, width = 1;
    int64_t first = piece * j->call->problem->piece, last = first + j->call->problem->piece;
    if (last > j->order.length) last = j->order.length;
    set_nothing(j, &b);
    if (j->order.lanes > 1) {
      piece_in_lanes(j, &b, block, first, last);
    } else {
      width = j->order.kept - block * LANES < LANES ? j->order.kept - block * LANES : LANES;
      piece_side_by_side(j, &b, block * LANES, width, first, last);
    }
    int64_t kept = j->order.lanes > 1 ? block : block * LANES;
    for (int i = 0; i < j->parts.components; i++) {
      float *to = j->partial + (piece * j->parts.components + i) * j->order.kept + kept;
      memcpy(to, b.state[i], (size_t)width * sizeof(float));
    }
  }
}

/* ------------------------------------------------------------------------------------- together */

/* Piece `other` into piece `into`, for all results. */
static void join_two(const reduce_job *j, int64_t into, int64_t other) {
  int64_t kept = j->order.kept, size = j->parts.components * kept;
  for (int p = 0; p < j->parts.count; p++) {
    int kind = j->parts.part[p].kind;
    float *state[3], *more[3];
    for (int i = 0; i < cvy_part_components(kind); i++) {
      state[i] = j->partial + into * size + (j->parts.part[p].first + i) * kept;
      more[i] = state[i] + (other - into) * size;
    }
    j->call->simd->join[kind](state, more, kept);
  }
}

static void join_pieces(const reduce_job *j) {
  int32_t lanes = j->order.piece_lanes, pieces = j->order.pieces;
  for (int32_t piece = lanes; piece < pieces; piece++) join_two(j, piece % lanes, piece);
  for (int32_t half = lanes / 2; half; half /= 2)
    for (int32_t l = 0; l < half && l + half < pieces; l++) join_two(j, l, l + half);
}

static void write_result(const reduce_job *j, const cvy_program_nest *nest, int result) {
  const cvy_reduction *how = &j->call->problem->how;
  int kind = how->result[result].kind;
  const float *from = j->partial + cvy_reduce_component(&j->parts, how, result) * j->order.kept;
  float block[LANES], length = (float)j->order.length;
  bool divided = kind == CVY_REDUCE_VARIANCE, none = kind == CVY_REDUCE_MEAN && length == 0.0f;
  for (int64_t at = 0; at < j->order.kept; at += LANES) {
    int64_t count = j->order.kept - at < LANES ? j->order.kept - at : LANES;
    for (int64_t i = 0; i < count; i++)
      block[i] = none ? NAN : divided ? from[at + i] / length : from[at + i];
    cvy_program_cursor first = cvy_program_nest_at(nest, at);
    cvy_program_scatter(nest, nest->result[result], j->call->out[result], &first, count, block);
  }
}

/* -------------------------------------------------------------------------------------- the job */

void cvy_reduce_arrays(const cvy_reduce_call *call) {
  const cvy_reduce_problem *problem = call->problem;
  cvy_program_problem of, kept_alone = problem->of;
  cvy_program_nest nest, kept;
  reduce_job j = {.call = call,
                  .parts = cvy_reduce_parts_of(&problem->how),
                  .order = cvy_reduce_order_of(problem)};
  if (j.order.kept == 0) return;
  uint32_t reduced = problem->how.axes;
  cvy_reduce_space(problem, &of);
  cvy_program_nest_of(&of, 0, j.order.lanes > 1 ? reduced : ~reduced, &nest);
  cvy_program_values_open(&of, &nest, call->in, call->simd, &j.values);
  j.partial = (float *)call->workspace + (int64_t)cvy_threads_count(call->threads) * SCRATCH;
  j.blocks = j.order.lanes > 1 ? j.order.kept : (j.order.kept + LANES - 1) / LANES;
  cvy_parallel_for(call->threads, j.blocks * j.order.pieces, run_pieces, &j);
  join_pieces(&j);
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (reduced >> axis & 1) kept_alone.extent[axis] = 1;
  kept_alone.program.inputs = 0;
  cvy_program_nest_of(&kept_alone, problem->how.results, 0, &kept);
  for (int k = 0; k < problem->how.results; k++) write_result(&j, &kept, k);
}
