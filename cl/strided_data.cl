/* backward_data with a stride, all phases at once. Input positions of equal remainder modulo the
 * stride form a phase. A tap belongs to one phase and one shift: position q of its phase takes what
 * the tap makes of source position q + shift. A work-group computes BM channels by BN positions q
 * of every phase, so that a source tile is loaded once for all phases, nothing is multiplied by
 * zeros, and the results of an item lie next to each other. Phases, taps and shifts are compiled
 * in; weights are packed as for implicit_gemm.cl. */
#ifndef WHOLE
#error "WHOLE is missing: 1 = the channels summed over are a multiple of BK"
#endif
#if SPACE != 2
#error "the extents of space must be compiled in"
#endif
#if TN != 4
#error "TN must be 4"
#endif
#if ITEMS % BN != 0 && BN % ITEMS != 0
#error "BN must be a multiple or a divisor of the items per work-group"
#endif

/* Of one axis: the phase of a tap and its shift, which falls from tap to tap. */
#define AXIS_PHASE(tap, stride, pad, dilation) \
  (((tap) * (dilation) + (pad) * (stride - 1)) % (stride))
#define AXIS_SHIFT(tap, stride, pad, dilation) \
  ((AXIS_PHASE(tap, stride, pad, dilation) + (pad) - (tap) * (dilation)) / (stride))
#define PHASE_Z(t) AXIS_PHASE(t, STRIDE_0, PAD_0, DILATION_0)
#define PHASE_H(r) AXIS_PHASE(r, STRIDE_1, PAD_1, DILATION_1)
#define PHASE_W(s) AXIS_PHASE(s, STRIDE_2, PAD_2, DILATION_2)
#define SHIFT_Z(t) AXIS_SHIFT(t, STRIDE_0, PAD_0, DILATION_0)
#define SHIFT_H(r) AXIS_SHIFT(r, STRIDE_1, PAD_1, DILATION_1)
#define SHIFT_W(s) AXIS_SHIFT(s, STRIDE_2, PAD_2, DILATION_2)
#define LEAST_Z SHIFT_Z(FILTER_0 - 1)
#define LEAST_H SHIFT_H(FILTER_1 - 1)
#define LEAST_W SHIFT_W(FILTER_2 - 1)
#define SHIFTS_Z (SHIFT_Z(0) - LEAST_Z + 1)
#define SHIFTS_H (SHIFT_H(0) - LEAST_H + 1)
#define SHIFTS_W (SHIFT_W(0) - LEAST_W + 1)
#define SHIFTS (SHIFTS_Z * SHIFTS_H * SHIFTS_W)
#define PHASES (STRIDE_0 * STRIDE_1 * STRIDE_2)
/* Positions of the longest phase, per axis. */
#define Q_0 ((IN_0 + STRIDE_0 - 1) / STRIDE_0)
#define Q_1 ((IN_1 + STRIDE_1 - 1) / STRIDE_1)
#define Q_2 ((IN_2 + STRIDE_2 - 1) / STRIDE_2)

/* What an item loads of a block of BK channels: float4 of the weights of all taps, and of one
 * column every B_STEP-th row, for all shifts. */
#define A_FOURS (TAPS * BK * BM / 4)
#define A_LOADS ((A_FOURS + ITEMS - 1) / ITEMS)
#define B_COLUMNS (BN > ITEMS ? BN / ITEMS : 1)
#define B_STEP (BN > ITEMS ? 1 : ITEMS / BN)
#define B_ROWS ((BK + B_STEP - 1) / B_STEP)
#define OUT_VOLUME (OUT_0 * OUT_1 * OUT_2)
#define A_SIZE (TAPS * BK * BM)
#define B_SIZE (SHIFTS * BK * BN)

/* Whether four neighbouring positions q of an item are eight neighbouring results. */
#define STORE_EIGHTS (STRIDE_2 == 2 && IN_2 % 8 == 0 && IN_ALIGNED)

/* The source position of shift 0 of the columns that an item loads, and which shifts lie inside. */
typedef struct columns {
  int from[B_COLUMNS];
  uint inside[B_COLUMNS];
} columns;

static columns find_columns(conv_args args, int column0, int item, int channel0) {
  columns found;
  int count = args.n * Q_0 * Q_1 * Q_2;
#pragma unroll
  for (int j = 0; j < B_COLUMNS; j++) {
    int at = column0 + item % BN + j * ITEMS;
    int w = at % Q_2 + LEAST_W, h = at / Q_2 % Q_1 + LEAST_H;
    int z = at / Q_2 / Q_1 % Q_0 + LEAST_Z, n = at / Q_2 / Q_1 / Q_0;
    found.from[j] = n * args.a_pitch + channel0 * OUT_VOLUME + (z * OUT_1 + h) * OUT_2 + w;
    uint inside = 0;
#pragma unroll
    for (int u = 0; u < SHIFTS; u++) {
      inside |= (uint)(within(z + u / SHIFTS_W / SHIFTS_H, OUT_0) &
                       within(h + u / SHIFTS_W % SHIFTS_H, OUT_1) & within(w + u % SHIFTS_W, OUT_2))
                << u;
    }
    found.inside[j] = at < count ? inside : 0u;
  }
  return found;
}

/* Loads the source of a block. `end` is the number of channels of the sum from this block on; with
 * 0 nothing is read. */
static void load_source(global const float *source, const columns *column, int block, int row0,
                        int end, float *into) {
#pragma unroll
  for (int j = 0; j < B_COLUMNS; j++) {
#pragma unroll
    for (int i = 0; i < B_ROWS; i++) {
      int row = row0 + i * B_STEP;
      int there = (WHOLE ? end > 0 : row < end) & (BK % B_STEP == 0 || row < BK);
      uint inside = there ? column->inside[j] : 0u;
      int from = column->from[j] + (block * BK + row) * OUT_VOLUME;
#pragma unroll
      for (int u = 0; u < SHIFTS; u++) {
        int by = (u / SHIFTS_W / SHIFTS_H * OUT_1 + u / SHIFTS_W % SHIFTS_H) * OUT_2 + u % SHIFTS_W;
        into[(j * B_ROWS + i) * SHIFTS + u] = inside >> u & 1u ? source[from + by] : 0.0f;
      }
    }
  }
}

static void load_weights(conv_args args, global const float *packed, int block, int item,
                         float4 *into) {
  packed += block * TAPS * BK * args.rows_up;
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int e = item + i * ITEMS;
    if (A_FOURS % ITEMS == 0 || e < A_FOURS)
      into[i] = *(global const float4 *)(packed + e / (BM / 4) * args.rows_up + e % (BM / 4) * 4);
  }
}

static void keep(const float4 *weights, const float *source, int item, local float *a,
                 local float *b) {
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int e = item + i * ITEMS;
    if (A_FOURS % ITEMS == 0 || e < A_FOURS) *(local float4 *)(a + e * 4) = weights[i];
  }
#pragma unroll
  for (int j = 0; j < B_COLUMNS; j++) {
#pragma unroll
    for (int i = 0; i < B_ROWS; i++) {
      int row = item / BN + i * B_STEP;
      if (BK % B_STEP == 0 || row < BK) {
#pragma unroll
        for (int u = 0; u < SHIFTS; u++)
          b[(u * BK + row) * BN + item % BN + j * ITEMS] = source[(j * B_ROWS + i) * SHIFTS + u];
      }
    }
  }
}

/* sum[phase][i] += a[tap][term][row i] * b[shift][term][four columns], each tap in its phase. */
static void multiply(local const float *a, local const float *b, int item, float4 *sum) {
  a += tile_row(item, 0);
  b += item % COLUMNS_OF_ITEMS * 4;
#pragma unroll
  for (int term = 0; term < BK; term++) {
    float4 column[SHIFTS];
#pragma unroll
    for (int u = 0; u < SHIFTS; u++) column[u] = *(local const float4 *)(b + (u * BK + term) * BN);
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++) {
      int t = tap / FILTER_2 / FILTER_1, r = tap / FILTER_2 % FILTER_1, s = tap % FILTER_2;
      int phase = (PHASE_Z(t) * STRIDE_1 + PHASE_H(r)) * STRIDE_2 + PHASE_W(s);
      int shift = ((SHIFT_Z(t) - LEAST_Z) * SHIFTS_H + SHIFT_H(r) - LEAST_H) * SHIFTS_W +
                  SHIFT_W(s) - LEAST_W;
#pragma unroll
      for (int i = 0; i < TM / 4; i++) {
        float4 row = *(local const float4 *)(a + (tap * BK + term) * BM + i * ROWS_OF_ITEMS * 4);
        float4 *to = sum + phase * TM + i * 4;
        to[0] = MULTIPLY_ADD((float4)(row.x), column[shift], to[0]);
        to[1] = MULTIPLY_ADD((float4)(row.y), column[shift], to[1]);
        to[2] = MULTIPLY_ADD((float4)(row.z), column[shift], to[2]);
        to[3] = MULTIPLY_ADD((float4)(row.w), column[shift], to[3]);
      }
    }
  }
}

/* Stores the results of four positions q from `left` on, of one channel in all phases. `sum` has
 * the phases TM apart. */
static void put(conv_args args, global const float *bias, global float *out, int left, int channel,
                const float4 *sum) {
#pragma unroll
  for (int line = 0; line < STRIDE_0 * STRIDE_1; line++) {
    const float4 *of = sum + line * STRIDE_2 * TM;
#if STORE_EIGHTS
    int h = left / Q_2 % Q_1 * STRIDE_1 + line % STRIDE_1;
    int z = left / Q_2 / Q_1 % Q_0 * STRIDE_0 + line / STRIDE_1;
    int n = left / Q_2 / Q_1 / Q_0, w = left % Q_2 * 2;
    if (h < IN_1 && z < IN_0 && n < args.n) {
      int to = n * args.out_pitch + ((channel * IN_0 + z) * IN_1 + h) * IN_2 + w;
      float4 even = of[0], odd = of[TM];
      store_four(args, bias, out, to, channel, (float4)(even.x, odd.x, even.y, odd.y));
      store_four(args, bias, out, to + 4, channel, (float4)(even.z, odd.z, even.w, odd.w));
    }
#else
#pragma unroll
    for (int component = 0; component < 4; component++) {
      int at = left + component, n = at / Q_2 / Q_1 / Q_0;
      int h = at / Q_2 % Q_1 * STRIDE_1 + line % STRIDE_1;
      int z = at / Q_2 / Q_1 % Q_0 * STRIDE_0 + line / STRIDE_1;
      int to = n * args.out_pitch + ((channel * IN_0 + z) * IN_1 + h) * IN_2;
#pragma unroll
      for (int f = 0; f < STRIDE_2; f++) {
        int w = at % Q_2 * STRIDE_2 + f;
        float4 v = of[f * TM];
        if (w < IN_2 && h < IN_1 && z < IN_0 && n < args.n) {
          store(args, bias, out, to + w, channel, component_of(v, component));
        }
      }
    }
#endif
  }
}

kernel GROUP_OF(ITEMS) void strided_data(conv_args args, global const float *restrict source,
                                         global const float *restrict packed,
                                         global const float *restrict bias,
                                         global float *restrict out) {
  local float a_tile[2 * A_SIZE] __attribute__((aligned(16)));
  local float b_tile[2 * B_SIZE] __attribute__((aligned(16)));
  int item = (int)get_local_id(0);

  group_tile tile = find_group_tile(args, BM, BN);
  int row0 = tile.row0, column0 = tile.column0;
  int group = tile.rest % args.groups, slice = tile.rest / args.groups;

  source += begin_of(args.a_at, args.a_rest);
  packed += begin_of(args.b_at, args.b_rest);
  packed += group * TAPS * args.depth_up * args.rows_up + row0;
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);
  out += (size_t)slice * (args.n * args.out_pitch);

  columns column = find_columns(args, column0, item, group * args.depth);
  float4 sum[PHASES * TM];
#pragma unroll
  for (int i = 0; i < PHASES * TM; i++) sum[i] = (float4)(0.0f);

  /* As in implicit_gemm.cl there is no branch in the loop. */
  float4 a_next[A_LOADS];
  float b_next[B_COLUMNS * B_ROWS * SHIFTS];
  int block = slice * args.slice_length;
  int last = min(args.slice_length, args.depth_up / BK - block) + block - 1;
  load_weights(args, packed, block, item, a_next);
  load_source(source, &column, block, item / BN, args.depth - block * BK, b_next);
  keep(a_next, b_next, item, a_tile, b_tile);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int now = 0; block <= last; now = 1 - now) {
    int next = min(block + 1, last);
    load_weights(args, packed, next, item, a_next);
    load_source(source, &column, next, item / BN, block < last ? args.depth - next * BK : 0,
                b_next);
    multiply(a_tile + now * A_SIZE, b_tile + now * B_SIZE, item, sum);
    keep(a_next, b_next, item, a_tile + (1 - now) * A_SIZE, b_tile + (1 - now) * B_SIZE);
    barrier(CLK_LOCAL_MEM_FENCE);
    block++;
  }

#pragma unroll
  for (int i = 0; i < TM; i++) {
    int row = row0 + tile_row(item, i);
    if (row < args.rows)
      put(args, bias, out, column0 + item % COLUMNS_OF_ITEMS * 4, group * args.rows + row, sum + i);
  }
}
