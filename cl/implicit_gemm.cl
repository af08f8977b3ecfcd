/* forward and backward_data as a tiled matrix product without a column buffer: rows are output
 * channels of a group, columns are output positions, terms are (channel, tap) of the source, which
 * is read in place. Weights are packed first, [group][tap][depth_up][rows_up], zero-filled to whole
 * tiles, so that they load as float4 without tests.
 *
 * backward_data with a stride: input positions of equal remainder modulo the stride form a phase.
 * All positions of a phase meet the same taps, the others are skipped by the whole work-group, and
 * within a phase source positions are consecutive: no test or division per element, no scatter. */
#ifndef DIRECTION
#error "DIRECTION is missing: 0 = forward, 1 = backward_data"
#endif

#define A_LOADS ((BK * BM / 4 + ITEMS - 1) / ITEMS)
#if ITEMS >= BN
#define B_COLUMNS 1
#define B_STEP (ITEMS / BN)
#if ITEMS % BN != 0 || BK % (ITEMS / BN) != 0
#error "items per work-group must be BN times a divisor of BK"
#endif
#else
#define B_COLUMNS (BN / ITEMS)
#define B_STEP 1
#if BN % ITEMS != 0
#error "BN must be a multiple of the items per work-group"
#endif
#endif
#define B_ROWS (BK / B_STEP)

/* Outside every extent, and still so after adding any shift. */
#define NOWHERE (-(1 << 30))

/* Positions: `q` counts an axis of the phase, `first` is the phase's first position on it. */
#if DIRECTION == 0
static int axis_extent(int in, int out, int stride, int first) { return out; }
static int axis_phases(int in, int stride) { return 1; }
static int axis_output(int q, int stride, int first) { return q; }
static int axis_source(int q, int stride, int pad) { return q * stride - pad; }
static int axis_meets(int tap, int stride, int pad, int dilation, int first) { return 1; }
static int axis_shift(int tap, int stride, int pad, int dilation, int first) {
  return tap * dilation;
}
#else
static int axis_extent(int in, int out, int stride, int first) {
  return (in - first + stride - 1) / stride;
}
static int axis_phases(int in, int stride) { return min(in, stride); }
static int axis_output(int q, int stride, int first) { return first + q * stride; }
static int axis_source(int q, int stride, int pad) { return q; }
static int axis_meets(int tap, int stride, int pad, int dilation, int first) {
  return (first + pad - tap * dilation) % stride == 0;
}
static int axis_shift(int tap, int stride, int pad, int dilation, int first) {
  return (first + pad - tap * dilation) / stride;
}
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void implicit_gemm(
    const conv_args args, global const float *restrict source, global const float *restrict packed,
    global const float *restrict bias, global float *restrict out) {
  local float a_tile[2 * BK * BM] __attribute__((aligned(16)));
  local float b_tile[2 * BK * BN] __attribute__((aligned(16)));
  const int item = (int)get_local_id(0);
  source += (size_t)args.a_at * CONV_ALIGN;
  packed += (size_t)args.b_at * CONV_ALIGN;
  bias += (size_t)args.bias_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;

  /* Which tile: rows fastest, so that neighbouring groups share source positions. */
  int index = args.first_group + (int)get_group_id(0);
  const int row0 = index % args.row_tiles * BM;
  index /= args.row_tiles;
  const int column0 = index % args.column_tiles * BN;
  index /= args.column_tiles;
  const int group = index % args.groups;
  index /= args.groups;
  const int phases_h = axis_phases(args.ih, args.sh), phases_w = axis_phases(args.iw, args.sw);
  const int first_w = index % phases_w, first_h = index / phases_w % phases_h;
  const int first_z = index / phases_w / phases_h;

  const int qz = axis_extent(args.iz, args.oz, args.sz, first_z);
  const int qh = axis_extent(args.ih, args.oh, args.sh, first_h);
  const int qw = axis_extent(args.iw, args.ow, args.sw, first_w);
  const int columns = args.n * qz * qh * qw;
  if (column0 >= columns) return;

#if DIRECTION == 0
  const int uz = args.iz, uh = args.ih, uw = args.iw, source_channels = args.c;
  const int vz = args.oz, vh = args.oh, vw = args.ow, out_channels = args.k;
#else
  const int uz = args.oz, uh = args.oh, uw = args.ow, source_channels = args.k;
  const int vz = args.iz, vh = args.ih, vw = args.iw, out_channels = args.c;
#endif
  const int source_volume = uz * uh * uw, out_volume = vz * vh * vw;

  /* The columns this item loads: where their tap 0 lies in the source. */
  int base[B_COLUMNS], at_z[B_COLUMNS], at_h[B_COLUMNS], at_w[B_COLUMNS];
  const int b_row0 = item / BN;
#pragma unroll
  for (int j = 0; j < B_COLUMNS; j++) {
    const int column = column0 + item % BN + j * ITEMS;
    const int w = column % qw, h = column / qw % qh;
    const int z = column / qw / qh % qz, n = column / qw / qh / qz;
    at_z[j] = column < columns ? axis_source(z, args.sz, args.pz) : NOWHERE;
    at_h[j] = axis_source(h, args.sh, args.ph);
    at_w[j] = axis_source(w, args.sw, args.pw);
    base[j] = (n * source_channels + group * args.depth) * source_volume;
  }

  int steps = 0;
  for (int t = 0; t < args.t; t++) steps += axis_meets(t, args.sz, args.pz, args.dz, first_z);
  int along = 0;
  for (int r = 0; r < args.r; r++) along += axis_meets(r, args.sh, args.ph, args.dh, first_h);
  steps *= along;
  along = 0;
  for (int s = 0; s < args.s; s++) along += axis_meets(s, args.sw, args.pw, args.dw, first_w);
  steps *= along * (args.depth_up / BK);

  float4 sum[TM * FRAGMENTS];
#pragma unroll
  for (int i = 0; i < TM * FRAGMENTS; i++) sum[i] = (float4)(0.0f);
  float4 a_next[A_LOADS];
  float b_next[B_COLUMNS * B_ROWS];

  /* Channel block by channel block, within it tap by tap. Round i loads tile i into registers,
   * multiplies tile i - 1 and puts tile i into the other half of local memory. */
  int c0 = 0, t = 0, r = 0, s = -1;
  for (int step = 0; step <= steps; step++) {
    if (step < steps) {
      do {
        if (++s == args.s) {
          s = 0;
          if (++r == args.r) {
            r = 0;
            if (++t == args.t) {
              t = 0;
              c0 += BK;
            }
          }
        }
      } while (!(axis_meets(t, args.sz, args.pz, args.dz, first_z) &&
                 axis_meets(r, args.sh, args.ph, args.dh, first_h) &&
                 axis_meets(s, args.sw, args.pw, args.dw, first_w)));
      const int tap = ((group * args.t + t) * args.r + r) * args.s + s;
      global const float *a_from = packed + (tap * args.depth_up + c0) * args.rows_up + row0;
#pragma unroll
      for (int i = 0; i < A_LOADS; i++) {
        const int e = item + i * ITEMS;
        if (BK * BM / 4 % ITEMS == 0 || e < BK * BM / 4)
          a_next[i] = *(global const float4 *)(a_from + e / (BM / 4) * args.rows_up +
                                               e % (BM / 4) * 4);
      }
      const int shift_z = axis_shift(t, args.sz, args.pz, args.dz, first_z);
      const int shift_h = axis_shift(r, args.sh, args.ph, args.dh, first_h);
      const int shift_w = axis_shift(s, args.sw, args.pw, args.dw, first_w);
#pragma unroll
      for (int j = 0; j < B_COLUMNS; j++) {
        const int z = at_z[j] + shift_z, h = at_h[j] + shift_h, w = at_w[j] + shift_w;
        const int inside = (uint)z < (uint)uz && (uint)h < (uint)uh && (uint)w < (uint)uw;
        const int at = base[j] + (c0 + b_row0) * source_volume + (z * uh + h) * uw + w;
#pragma unroll
        for (int i = 0; i < B_ROWS; i++)
          b_next[j * B_ROWS + i] = inside && c0 + b_row0 + i * B_STEP < args.depth
                                       ? source[at + i * B_STEP * source_volume]
                                       : 0.0f;
      }
    }
    if (step > 0) {
      const int half_tile = (step - 1) & 1;
      tile_multiply(a_tile + half_tile * BK * BM, BM, b_tile + half_tile * BK * BN, BN, item, sum);
    }
    if (step < steps) {
      local float *a_to = a_tile + (step & 1) * BK * BM, *b_to = b_tile + (step & 1) * BK * BN;
#pragma unroll
      for (int i = 0; i < A_LOADS; i++) {
        const int e = item + i * ITEMS;
        if (BK * BM / 4 % ITEMS == 0 || e < BK * BM / 4) *(local float4 *)(a_to + e * 4) = a_next[i];
      }
#pragma unroll
      for (int j = 0; j < B_COLUMNS; j++) {
#pragma unroll
        for (int i = 0; i < B_ROWS; i++)
          b_to[(b_row0 + i * B_STEP) * BN + item % BN + j * ITEMS] = b_next[j * B_ROWS + i];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int j = 0; j < FRAGMENTS; j++) {
#pragma unroll
    for (int lane = 0; lane < 4; lane++) {
      const int column = column0 + tile_column(item, j) + lane;
      if (column < columns) {
        const int w = axis_output(column % qw, args.sw, first_w);
        const int h = axis_output(column / qw % qh, args.sh, first_h);
        const int z = axis_output(column / qw / qh % qz, args.sz, first_z);
        const int n = column / qw / qh / qz;
        const int to = n * out_channels * out_volume + (z * vh + h) * vw + w;
#pragma unroll
        for (int i = 0; i < TM; i++) {
          const int row = row0 + tile_row(item, i), channel = group * args.rows + row;
          const float4 v = sum[i * FRAGMENTS + j];
          if (row < args.rows)
            store(args, bias, out, to + channel * out_volume, channel,
                  lane == 0 ? v.x : lane == 1 ? v.y : lane == 2 ? v.z : v.w);
        }
      }
    }
  }
}

/* One item per element of the packed weights. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void pack_weights(
    const conv_args args, global const float *restrict w, global const float *restrict b,
    global const float *restrict bias, global float *restrict packed){
  const int id = (int)get_global_id(0);
  if (id >= args.items) return;
  w += (size_t)args.a_at * CONV_ALIGN;
  packed += (size_t)args.out_at * CONV_ALIGN;

  const int row = id % args.rows_up, term = id / args.rows_up % args.depth_up;
  const int taps = args.t * args.r * args.s;
  const int tap = id / args.rows_up / args.depth_up % taps;
  const int group = id / args.rows_up / args.depth_up / taps;
  float v = 0.0f;
  if (row < args.rows && term < args.depth) {
#if DIRECTION == 0
    v = w[((group * args.rows + row) * args.depth + term) * taps + tap];
#else
    v = w[((group * args.depth + term) * args.rows + row) * taps + tap];
#endif
  }
  packed[id] = v;
}
