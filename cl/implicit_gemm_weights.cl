/* backward_weights as a tiled matrix product without a column buffer: rows are the output channels
 * of a group, columns its weights per row (channel, tap), terms the output positions of all images.
 * The long sum is cut into slices, one partial result each, added in order by a second kernel. */
#if ITEMS % BK != 0
#error "BK must divide the items per work-group"
#endif
#define LOAD_STEP (ITEMS / BK)
#if BM % LOAD_STEP != 0 || BN % LOAD_STEP != 0
#error "items / BK must divide BM and BN"
#endif
#define A_LOADS (BM / LOAD_STEP)
#define B_LOADS (BN / LOAD_STEP)
/* Neighbouring items load neighbouring terms of a row but tiles are [term][row]: the odd multiple
 * of 4 spreads those stores over the banks. */
#define A_PITCH (BM + 4)
#define B_PITCH (BN + 4)

/* Outside every extent, and still so after adding any shift. */
#define NOWHERE (-(1 << 30))

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void implicit_gemm_weights(
    const conv_args args, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict partial) {
  local float a_tile[2 * BK * A_PITCH] __attribute__((aligned(16)));
  local float b_tile[2 * BK * B_PITCH] __attribute__((aligned(16)));
  local int4 shift[BN]; /* per column: z, h, w of its tap and the offset of both in x */
  const int item = (int)get_local_id(0);
  x += (size_t)args.a_at * CONV_ALIGN;
  dy += (size_t)args.b_at * CONV_ALIGN;
  partial += (size_t)args.out_at * CONV_ALIGN;

  int index = args.first_group + (int)get_group_id(0);
  const int row0 = index % args.row_tiles * BM;
  index /= args.row_tiles;
  const int column0 = index % args.column_tiles * BN;
  index /= args.column_tiles;
  const int group = index % args.groups, slice = index / args.groups;

  const int taps = args.t * args.r * args.s, columns = args.depth * taps;
  const int in_volume = args.iz * args.ih * args.iw, volume = args.oz * args.oh * args.ow;
  for (int j = item; j < BN; j += ITEMS) {
    const int column = column0 + j, tap = column % taps;
    const int z = tap / args.s / args.r * args.dz - args.pz;
    const int h = tap / args.s % args.r * args.dh - args.ph;
    const int w = tap % args.s * args.dw - args.pw;
    const int from = column / taps * in_volume + (z * args.ih + h) * args.iw + w;
    shift[j] = (int4)(column < columns ? z : NOWHERE, h, w, from);
  }

  /* The term this item loads: position (n, oz, oh, ow), advanced by BK a step digit by digit. */
  const int first = slice * args.slice;
  const int end = min(args.n * volume, first + args.slice);
  const int lane = item % BK, load0 = item / BK;
  int term = first + lane;
  int ow = term % args.ow, oh = term / args.ow % args.oh;
  int oz = term / args.ow / args.oh % args.oz, n = term / volume;
  const int step_w = BK % args.ow, step_h = BK / args.ow % args.oh;
  const int step_z = BK / args.ow / args.oh % args.oz, step_n = BK / volume;

  float4 sum[TM * FRAGMENTS];
#pragma unroll
  for (int i = 0; i < TM * FRAGMENTS; i++) sum[i] = (float4)(0.0f);
  float a_next[A_LOADS], b_next[B_LOADS];
  barrier(CLK_LOCAL_MEM_FENCE);

  /* Round i loads tile i into registers, multiplies tile i - 1 and stores tile i. */
  const int steps = (end - first + BK - 1) / BK;
  for (int step = 0; step <= steps; step++) {
    if (step < steps) {
      const int there = term < end;
      const int a_from = (n * args.k + group * args.rows + row0) * volume +
                         (oz * args.oh + oh) * args.ow + ow;
#pragma unroll
      for (int i = 0; i < A_LOADS; i++) {
        const int row = load0 + i * LOAD_STEP;
        a_next[i] = there && row0 + row < args.rows ? dy[a_from + row * volume] : 0.0f;
      }
      const int z = oz * args.sz, h = oh * args.sh, w = ow * args.sw;
      const int b_from = (n * args.c + group * args.depth) * in_volume +
                         (z * args.ih + h) * args.iw + w;
#pragma unroll
      for (int i = 0; i < B_LOADS; i++) {
        const int4 by = shift[load0 + i * LOAD_STEP];
        const int inside = there && (uint)(z + by.x) < (uint)args.iz &&
                           (uint)(h + by.y) < (uint)args.ih && (uint)(w + by.z) < (uint)args.iw;
        b_next[i] = inside ? x[b_from + by.w] : 0.0f;
      }
      term += BK;
      ow += step_w;
      oh += step_h + (ow >= args.ow);
      ow -= ow >= args.ow ? args.ow : 0;
      oz += step_z + (oh >= args.oh);
      oh -= oh >= args.oh ? args.oh : 0;
      n += step_n + (oz >= args.oz);
      oz -= oz >= args.oz ? args.oz : 0;
    }
    if (step > 0) {
      const int half_tile = (step - 1) & 1;
      tile_multiply(a_tile + half_tile * BK * A_PITCH, A_PITCH, b_tile + half_tile * BK * B_PITCH,
                    B_PITCH, item, sum);
    }
    if (step < steps) {
      local float *a_to = a_tile + ((step & 1) * BK + lane) * A_PITCH;
      local float *b_to = b_tile + ((step & 1) * BK + lane) * B_PITCH;
#pragma unroll
      for (int i = 0; i < A_LOADS; i++) a_to[load0 + i * LOAD_STEP] = a_next[i];
#pragma unroll
      for (int i = 0; i < B_LOADS; i++) b_to[load0 + i * LOAD_STEP] = b_next[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int i = 0; i < TM; i++) {
    const int row = row0 + tile_row(item, i);
    const int to = ((slice * args.groups + group) * args.rows + row) * columns;
#pragma unroll
    for (int j = 0; j < FRAGMENTS; j++) {
      const int column = column0 + tile_column(item, j);
      const float4 v = sum[i * FRAGMENTS + j];
      if (row < args.rows) {
        if (column < columns) partial[to + column] = v.x;
        if (column + 1 < columns) partial[to + column + 1] = v.y;
        if (column + 2 < columns) partial[to + column + 2] = v.z;
        if (column + 3 < columns) partial[to + column + 3] = v.w;
      }
    }
  }
}

/* dw = sum over the slices in ascending order. One item per weight. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void add_slices(
    const conv_args args, global const float *restrict partial, global const float *restrict b,
    global const float *restrict bias, global float *restrict dw){
  const int id = (int)get_global_id(0);
  if (id >= args.items) return;
  partial += (size_t)args.a_at * CONV_ALIGN;
  bias += (size_t)args.bias_at * CONV_ALIGN;
  dw += (size_t)args.out_at * CONV_ALIGN;
  float sum = 0.0f;
  for (int slice = 0; slice < args.slices; slice++) sum += partial[slice * args.items + id];
  store(args, bias, dw, id, 0, sum);
}
