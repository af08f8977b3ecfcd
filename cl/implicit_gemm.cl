/* forward and backward_data as a tiled matrix product without a column buffer. Rows are output
 * channels of a group, columns are output positions, and terms are (channel, tap) of the source,
 * which is read in place. Weights are packed first, as [group][block of BK
 * channels][tap][BK][rows_up] with zeros up to whole tiles, so that they load as float4 without
 * tests; or with PACKED=0 forward reads those of one tap as they lie, [row][channel], of which
 * there are whole blocks. Terms are summed block by block, tap by tap; slices are ranges of blocks.
 *
 * backward_data with a stride: input positions of equal remainder modulo the stride form a phase.
 * All positions of a phase meet the same taps, and the whole work-group skips the others. Within a
 * phase source positions are consecutive, so there is no test or division per element and no
 * scatter. */
#ifndef DIRECTION
#error "DIRECTION is missing: 0 = forward, 1 = backward_data"
#endif
#ifndef WHOLE
#error "WHOLE is missing: 1 = the channels summed over are a multiple of BK"
#endif

#ifndef PACKED
#error "PACKED is missing: 0 = weights as they lie, of one tap and of whole blocks, DIRECTION 0"
#endif

/* What there is of the input and of the output, of the array that is gathered from and of the one
 * that is written. */
#if DIRECTION == 0
#define SOURCE(in, out) in
#define RESULT(in, out) out
#else
#define SOURCE(in, out) out
#define RESULT(in, out) in
#endif

/* Items without weights to load store to a place of their own behind the tile, so that there is no
 * branch. */
#define A_LOADS ((BK * BM / 4 + ITEMS - 1) / ITEMS)
#define A_ROOM (A_LOADS * ITEMS * 4)

/* The source is loaded by four neighbouring columns at a time where they are neighbours in memory
 * and the items of a group can share the work evenly. */
#if PLAIN && SOURCE(FOURS_IN, FOURS_OUT) && BK * BN / 4 % ITEMS == 0 && BK * BN / 4 >= ITEMS
#define LOAD_WIDTH 4
typedef float4 load;
#else
#define LOAD_WIDTH 1
typedef float load;
#endif
#define UNITS (BN / LOAD_WIDTH)
#if ITEMS >= UNITS
#define B_UNITS 1
#define B_STEP (ITEMS / UNITS)
#if ITEMS % UNITS != 0 || BK % (ITEMS / UNITS) != 0
#error "items per work-group must be BN times a divisor of BK"
#endif
#else
#define B_UNITS (UNITS / ITEMS)
#define B_STEP 1
#if UNITS % ITEMS != 0
#error "BN must be a multiple of the items per work-group"
#endif
#endif
#define B_ROWS (BK / B_STEP)

/* Whether neighbouring columns of the result are neighbours in memory. */
#define STORE_FOURS (DIRECTION == 0 ? FOURS_OUT : UNIT_STRIDE && FOURS_IN)

/* A position outside every extent, and still so after adding any shift. */
#define NOWHERE (-(1 << 30))

/* Positions of one axis: `q` counts those of the phase, whose first one is `first`. */
#if DIRECTION == 0
static int axis_extent(int in, int out, int stride, int first) {
  return out;
}
static int axis_phases(int in, int stride) {
  return 1;
}
static int axis_output(int q, int stride, int first) {
  return q;
}
static int axis_source(int q, int stride, int pad) {
  return q * stride - pad;
}
static int axis_meets(int tap, int stride, int pad, int dilation, int first) {
  return 1;
}
static int axis_shift(int tap, int stride, int pad, int dilation, int first) {
  return tap * dilation;
}
#else
static int axis_extent(int in, int out, int stride, int first) {
  return (in - first + stride - 1) / stride;
}
static int axis_phases(int in, int stride) {
  return min(in, stride);
}
static int axis_output(int q, int stride, int first) {
  return first + q * stride;
}
static int axis_source(int q, int stride, int pad) {
  return q;
}
static int axis_meets(int tap, int stride, int pad, int dilation, int first) {
  return (first + pad - tap * dilation) % stride == 0;
}
static int axis_shift(int tap, int stride, int pad, int dilation, int first) {
  return (first + pad - tap * dilation) / stride;
}
#endif

/* A phase is known by its first position; its extents are how many positions it has on each axis.
 * Of the columns that an item loads it is known where their tap 0 lies in the source, as a position
 * and as an index. A step of the sum is one block of channels at one tap. */
typedef struct phase {
  int z, h, w;
} phase;
typedef struct phase_extents {
  int z, h, w;
} phase_extents;
typedef struct loaded_columns {
  int z[B_UNITS], h[B_UNITS], w[B_UNITS], from[B_UNITS];
} loaded_columns;
typedef struct sum_step {
  int block, t, r, s;
} sum_step;

static int meets(conv_args args, phase first, sum_step at) {
  return axis_meets(at.t, args.sz, args.pz, args.dz, first.z) &&
         axis_meets(at.r, args.sh, args.ph, args.dh, first.h) &&
         axis_meets(at.s, args.sw, args.pw, args.dw, first.w);
}

static int taps_that_meet(conv_args args, phase first) {
  int z = 0, h = 0, w = 0;
  for (int t = 0; t < args.t; t++) z += axis_meets(t, args.sz, args.pz, args.dz, first.z);
  for (int r = 0; r < args.r; r++) h += axis_meets(r, args.sh, args.ph, args.dh, first.h);
  for (int s = 0; s < args.s; s++) w += axis_meets(s, args.sw, args.pw, args.dw, first.w);
  return z * h * w;
}

/* The next step whose tap meets the phase; there must be one. */
static sum_step next_step(conv_args args, phase first, sum_step at) {
  do {
    at.s++;
    int row_done = at.s == args.s;
    at.s = row_done ? 0 : at.s;
    at.r += row_done;
    int plane_done = at.r == args.r;
    at.r = plane_done ? 0 : at.r;
    at.t += plane_done;
    int all_done = at.t == args.t;
    at.t = all_done ? 0 : at.t;
    at.block += all_done;
  } while (!meets(args, first, at));
  return at;
}

#if PACKED
static void load_weights(conv_args args, global const float *packed, int row0, sum_step at,
                         int item, float4 *into) {
  int tap = (at.t * args.r + at.r) * args.s + at.s;
  packed += (at.block * args.t * args.r * args.s + tap) * BK * args.rows_up;
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int e = item + i * ITEMS;
    into[i] = LOADED(float4, BK * BM / 4 % ITEMS == 0 || e < BK * BM / 4, packed,
                     e / (BM / 4) * args.rows_up + e % (BM / 4) * 4);
  }
}
#else
/* Rows that there are not are the last one, and give results that are not stored. */
static void load_weights(conv_args args, global const float *weights, int row0, sum_step at,
                         int item, float4 *into) {
  weights += at.block * BK;
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int e = item + i * ITEMS, row = min(e % BM, args.rows - 1 - row0);
    into[i] = LOADED(float4, BK * BM / 4 % ITEMS == 0 || e < BK * BM / 4, weights,
                     row * args.depth + e / BM * 4);
  }
}
#endif

/* Whether row i of what an item loads is one of the sum's. */
static int has_row(int i, int row0, int end) {
  return WHOLE ? end > 0 : row0 + i * B_STEP < end;
}

/* Loads the source of a step. `end` is the number of terms of the sum from this step's block on;
 * with 0 nothing is read. Returns which of the columns have a source, one bit each. */
static uint load_source(conv_args args, global const float *source, phase first,
                        const loaded_columns *column, sum_step at, int row0, int end, load *into) {
  int uz = SOURCE(args.iz, args.oz), uh = SOURCE(args.ih, args.oh);
  int uw = SOURCE(args.iw, args.ow), volume = uz * uh * uw;
  int shift_z = axis_shift(at.t, args.sz, args.pz, args.dz, first.z);
  int shift_h = axis_shift(at.r, args.sh, args.ph, args.dh, first.h);
  int shift_w = axis_shift(at.s, args.sw, args.pw, args.dw, first.w);
  int shift = at.block * BK * volume + (shift_z * uh + shift_h) * uw + shift_w;
  uint all_inside = 0;
#pragma unroll
  for (int j = 0; j < B_UNITS; j++) {
    int inside = within(column->z[j] + shift_z, uz) & within(column->h[j] + shift_h, uh) &
                 within(column->w[j] + shift_w, uw);
    int from = column->from[j] + shift;
    all_inside |= (uint)inside << j;
#pragma unroll
    for (int i = 0; i < B_ROWS; i++) {
      into[j * B_ROWS + i] =
          LOADED(load, inside & has_row(i, row0, end), source, from + i * B_STEP * volume);
    }
  }
  return all_inside;
}

/* Each four of them are four rows of a term, or four terms of a row. */
static void keep_weights(const float4 *loaded, int item, local float *tile) {
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int e = item + i * ITEMS;
#if PACKED
    *(local float4 *)(tile + e * 4) = loaded[i];
#else
    int there = BK * BM / 4 % ITEMS == 0 || e < BK * BM / 4, apart = there ? BM : 1;
    local float *to = tile + (there ? e / BM * 4 * BM + e % BM : e * 4);
    to[0] = loaded[i].x;
    to[apart] = loaded[i].y;
    to[2 * apart] = loaded[i].z;
    to[3 * apart] = loaded[i].w;
#endif
  }
}

static void keep_source(const load *loaded, uint inside, int row0, int end, int item,
                        local float *tile) {
  tile += item / UNITS * BN + item % UNITS * LOAD_WIDTH;
#pragma unroll
  for (int j = 0; j < B_UNITS; j++) {
#pragma unroll
    for (int i = 0; i < B_ROWS; i++) {
      *(local load *)(tile + i * B_STEP * BN + j * ITEMS * LOAD_WIDTH) =
          KEPT(load, (inside >> j & 1) & has_row(i, row0, end), loaded[j * B_ROWS + i]);
    }
  }
}

/* Stores the results of an item, finished by bias and activation. `out` begins at the slice. */
static void store_results(conv_args args, global const float *bias, phase first,
                          phase_extents extent, int row0, int column0, int group, int item,
                          const float4 *sum, global float *out) {
  int vh = RESULT(args.ih, args.oh), vw = RESULT(args.iw, args.ow);
  int out_volume = RESULT(args.iz, args.oz) * vh * vw;
  int column_count = args.n * extent.z * extent.h * extent.w;
#pragma unroll
  for (int j = 0; j < FRAGMENTS; j++) {
    int left = column0 + tile_column(item, j);
#if STORE_FOURS
    if (left < column_count) {
      int n = left / out_volume;
      int to = n * args.out_pitch + group * args.rows * out_volume + left % out_volume;
#pragma unroll
      for (int i = 0; i < TM; i++) {
        int row = row0 + tile_row(item, i);
        if (row < args.rows) {
          store_four(args, bias, out, to + row * out_volume, group * args.rows + row,
                     sum[i * FRAGMENTS + j]);
        }
      }
    }
#else
#pragma unroll
    for (int component = 0; component < 4; component++) {
      int at = left + component;
      if (at < column_count) {
        int w = axis_output(at % extent.w, args.sw, first.w);
        int h = axis_output(at / extent.w % extent.h, args.sh, first.h);
        int z = axis_output(at / extent.w / extent.h % extent.z, args.sz, first.z);
        int n = at / extent.w / extent.h / extent.z;
        int to = n * args.out_pitch + (z * vh + h) * vw + w;
#pragma unroll
        for (int i = 0; i < TM; i++) {
          int row = row0 + tile_row(item, i), channel = group * args.rows + row;
          float4 v = sum[i * FRAGMENTS + j];
          if (row < args.rows) {
            store(args, bias, out, to + channel * out_volume, channel, component_of(v, component));
          }
        }
      }
    }
#endif
  }
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void implicit_gemm(
    conv_args given, global const float *restrict source, global const float *restrict weights,
    global const float *restrict bias, global float *restrict out) {
  local float a_tile[2 * A_ROOM] __attribute__((aligned(16)));
  local float b_tile[2 * BK * BN] __attribute__((aligned(16)));
  conv_args args = in_space(given);
  int item = (int)get_local_id(0);

  group_tile tile = find_group_tile(args, BM, BN);
  int row0 = tile.row0, column0 = tile.column0;
  int group = tile.rest % args.groups, index = tile.rest / args.groups;
  int phases_w = axis_phases(args.iw, args.sw), phases_h = axis_phases(args.ih, args.sh);
  int phases_z = axis_phases(args.iz, args.sz);
  phase first;
  first.w = index % phases_w;
  first.h = index / phases_w % phases_h;
  first.z = index / phases_w / phases_h % phases_z;
  int slice = index / phases_w / phases_h / phases_z;

  phase_extents extent;
  extent.z = axis_extent(args.iz, args.oz, args.sz, first.z);
  extent.h = axis_extent(args.ih, args.oh, args.sh, first.h);
  extent.w = axis_extent(args.iw, args.ow, args.sw, first.w);
  int column_count = args.n * extent.z * extent.h * extent.w;
  if (column0 >= column_count) return;

  int uh = SOURCE(args.ih, args.oh), uw = SOURCE(args.iw, args.ow);
  int source_volume = SOURCE(args.iz, args.oz) * uh * uw;

  source += begin_of(args.a_at, args.a_rest);
  weights += begin_of(args.b_at, args.b_rest);
#if PACKED
  weights += group * args.t * args.r * args.s * args.depth_up * args.rows_up + row0;
#else
  weights += (group * args.rows + row0) * args.depth;
#endif
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);
  out += (size_t)slice * (args.n * args.out_pitch);

  loaded_columns column;
  int b_row0 = item / UNITS;
#pragma unroll
  for (int j = 0; j < B_UNITS; j++) {
    int at = column0 + (item % UNITS + j * ITEMS) * LOAD_WIDTH;
    int n = at / extent.w / extent.h / extent.z;
    column.z[j] = axis_source(at / extent.w / extent.h % extent.z, args.sz, args.pz);
    column.h[j] = axis_source(at / extent.w % extent.h, args.sh, args.ph);
    column.w[j] = at < column_count ? axis_source(at % extent.w, args.sw, args.pw) : NOWHERE;
    column.from[j] = n * args.a_pitch + (group * args.depth + b_row0) * source_volume +
                     (column.z[j] * uh + column.h[j]) * uw + column.w[j];
  }

  float4 sum[TM * FRAGMENTS];
#pragma unroll
  for (int i = 0; i < TM * FRAGMENTS; i++) sum[i] = (float4)(0.0f);

  /* Every round loads the next tiles into registers, multiplies these and puts the loaded ones into
   * the other half of local memory. The last round loads its own weights again and no source: no
   * branch, so that loads, arithmetic and stores are interleaved. */
  int blocks = min(args.slice_length, args.depth_up / BK - slice * args.slice_length);
  int steps = blocks * taps_that_meet(args, first);
  if (steps > 0) {
    float4 a_next[A_LOADS];
    load b_next[B_UNITS * B_ROWS];
    sum_step at = {slice * args.slice_length, 0, 0, -1};
    at = next_step(args, first, at);
    load_weights(args, weights, row0, at, item, a_next);
    int end = args.depth - at.block * BK;
    uint inside = load_source(args, source, first, &column, at, b_row0, end, b_next);
    keep_weights(a_next, item, a_tile);
    keep_source(b_next, inside, b_row0, end, item, b_tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < steps; step++) {
      int now = step & 1, more = step + 1 < steps;
      sum_step following = next_step(args, first, at);
      if (more) at = following;
      load_weights(args, weights, row0, at, item, a_next);
      end = more ? args.depth - at.block * BK : 0;
      inside = load_source(args, source, first, &column, at, b_row0, end, b_next);
      STAY_IN_ORDER();
      tile_multiply(a_tile + now * A_ROOM, BM, b_tile + now * BK * BN, BN, item, sum);
      STAY_IN_ORDER();
      keep_weights(a_next, item, a_tile + (1 - now) * A_ROOM);
      keep_source(b_next, inside, b_row0, end, item, b_tile + (1 - now) * BK * BN);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }

  store_results(args, bias, first, extent, row0, column0, group, item, sum, out);
}
