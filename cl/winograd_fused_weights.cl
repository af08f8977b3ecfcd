/* Winograd's gradient of weights with tiles of 2 x 2 in one kernel. A work-group does BM rows
 * (output channels) by BN columns (input channels) of all 16 products over a slice of the tiles,
 * with ITEMS items each. In steps of BK tiles it transforms patches of x and tiles of dy into local
 * memory; at the end the products change hands there and become 3 x 3 gradients, one partial result
 * per slice.
 *
 * Neighbouring items load neighbouring tiles and store them a pitch apart, which keeps them on
 * different banks, as the gap behind a point's tile does with what two points' items read. */
#define GROUP (POINTS * ITEMS)
#if GROUP % BK != 0 || BM * BK % GROUP != 0 || BN * BK % GROUP != 0
#error "items must share patches and tiles evenly"
#endif
#define STEP (GROUP / BK) /* channels between two loads of an item */
#define A_LOADS (BM / STEP)
#define B_LOADS (BN / STEP)
#define A_PITCH (BM + 4)
#define B_PITCH (BN + 4)
#define A_POINT (BK * A_PITCH + ROWS_OF_ITEMS * 4)
#define B_POINT (BK * B_PITCH + COLUMNS_OF_ITEMS * 4)

/* Loads the tile of dy that begins at `from`, with 0 where it ends outside. */
static void load_tile(conv_args args, global const float *from, tile_position at, int there,
                      float (*d)[TILE]) {
#pragma unroll
  for (int i = 0; i < TILE; i++) {
#pragma unroll
    for (int j = 0; j < TILE; j++)
      d[i][j] = there & (at.h + i < args.oh) & (at.w + j < args.ow) ? from[i * args.ow + j] : 0.0f;
  }
}

/* Transforms products in local memory to the gradient of an element, and stores it. */
static void store_filter(conv_args args, local const float *products, global float *out) {
  float m[SIDE][SIDE], filter[9];
  take_products(products, m);
  filter_of_all_points(m, filter);
#pragma unroll
  for (int i = 0; i < 9; i++) out[i] = args.accumulate ? out[i] + filter[i] : filter[i];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void winograd_fused_weights(
    conv_args given, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict out) {
  conv_args args = in_space(given);
  local float room[ROOM] __attribute__((aligned(16)));
  int item = (int)get_local_id(0), point = item / ITEMS, mine = item % ITEMS;
  x += begin_of(args.a_at, args.a_rest);
  dy += begin_of(args.b_at, args.b_rest);
  out += begin_of(args.out_at, args.out_rest);

  group_tile tile = find_group_tile(args, BM, BN);
  int row0 = tile.row0, column0 = tile.column0;
  int group = tile.rest % args.groups, slice = tile.rest / args.groups;

  /* The item's tile of a step and its first channels. */
  int own_tile = item % BK, row = row0 + item / BK, column = column0 + item / BK;
  int in_volume = args.iz * args.ih * args.iw, out_volume = args.oz * args.oh * args.ow;
  int end = min(args.depth, (slice + 1) * args.slice_length);
  float4 sum[TM * FRAGMENTS];
#pragma unroll
  for (int i = 0; i < TM * FRAGMENTS; i++) sum[i] = (float4)(0.0f);
  local float *a_tiles = room, *b_tiles = room + POINTS * A_POINT;
  for (int term = slice * args.slice_length; term < end; term += BK) {
    /* What is loaded is on its way while others still multiply. */
    float a[A_LOADS][TILE][TILE], b[B_LOADS][SIDE][SIDE];
    tile_position at = tile_position_of(args, term + own_tile);
    int there = term + own_tile < end;
    uint inside = there ? inside_of(args, at) : 0u;
    global const float *b_from = x + at.image * args.a_pitch +
                                 (group * args.columns + column) * in_volume +
                                 (at.z * args.ih + at.h - args.ph) * args.iw + at.w - args.pw;
#pragma unroll
    for (int i = 0; i < B_LOADS; i++) {
      load_patch(b_from + i * STEP * in_volume, args.iw,
                 column + i * STEP < args.columns ? inside : 0u, b[i]);
    }
    global const float *a_from = dy + at.image * args.b_pitch +
                                 (group * args.rows + row) * out_volume +
                                 (at.z * args.oh + at.h) * args.ow + at.w;
#pragma unroll
    for (int i = 0; i < A_LOADS; i++) {
      load_tile(args, a_from + i * STEP * out_volume, at, there & (row + i * STEP < args.rows),
                a[i]);
    }
    STAY_IN_ORDER();
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < B_LOADS; i++)
      transform_patch(b[i], b_tiles + own_tile * B_PITCH + item / BK + i * STEP, B_POINT);
#pragma unroll
    for (int i = 0; i < A_LOADS; i++) {
      float v[SIDE][SIDE];
      points_of_tile(a[i], v);
      keep_points(v, a_tiles + own_tile * A_PITCH + item / BK + i * STEP, A_POINT);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile_multiply(a_tiles + point * A_POINT, A_PITCH, b_tiles + point * B_POINT, B_PITCH, mine,
                  sum);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  out += (slice * args.groups + group) * args.rows * args.columns * 9;
#pragma unroll
  for (int part = 0; part < TM / 4; part++) {
    hand_over(sum + part * 4 * FRAGMENTS, point, mine, room);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < ROWS * BN; i += GROUP) {
      int k = row0 + part * ROWS + i / BN, c = column0 + i % BN;
      if (k < args.rows && c < args.columns)
        store_filter(args, room + i, out + (k * args.columns + c) * 9);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
