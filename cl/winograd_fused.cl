/* Winograd's convolution with tiles of 2 x 2 in one kernel, forward and backward_data, without
 * scratch memory. A work-group does BM rows (output channels) by BN columns (tiles) of all 16
 * products, with ITEMS items each. In steps of BK channels it transforms patches of the source into
 * local memory, where transformed weights join them; at the end the products change hands in local
 * memory to be transformed back. Arguments are as in winograd.cl. */
#define GROUP (POINTS * ITEMS)
#if GROUP % BN != 0 || BK * BN % GROUP != 0 || POINTS * BK * BM / 4 % GROUP != 0
#error "items must share patches and weights evenly"
#endif
#define PATCHES (BK * BN / GROUP)
#define WEIGHTS (POINTS * BK * BM / 4 / GROUP)
/* Room for a point's tiles in local memory; the gap puts two points' on different banks. */
#define A_POINT (BK * BM + 16)
#define B_POINT (BK * BN + 16)

/* Transforms products in local memory to the outputs of a tile. */
static void transform_back(conv_args args, tile_position at, int channel,
                           local const float *products, global const float *bias,
                           global float *out) {
  float m[SIDE][SIDE], y[TILE][TILE];
  take_products(products, m);
  outputs_of_points(m, y);
  int first = at.image * args.out_pitch, plane = channel * args.oz + at.z;
  int pairs = is_bare(args) && (args.ow | args.out_rest | args.out_pitch) % 2 == 0;
#pragma unroll
  for (int i = 0; i < TILE; i++) {
    int to = first + (plane * args.oh + at.h + i) * args.ow + at.w;
    if (at.h + i < args.oh && pairs) {
      *(global float2 *)(out + to) = (float2)(y[i][0], y[i][1]);
    } else if (at.h + i < args.oh) {
      store(args, bias, out, to, channel, y[i][0]);
      if (at.w + 1 < args.ow) store(args, bias, out, to + 1, channel, y[i][1]);
    }
  }
}

kernel GROUP_OF(GROUP) void winograd_fused(conv_args given, global const float *restrict source,
                                           global const float *restrict weights,
                                           global const float *restrict bias,
                                           global float *restrict out) {
  conv_args args = in_space(given);
  local float room[ROOM] __attribute__((aligned(16)));
  int item = (int)get_local_id(0), point = item / ITEMS, mine = item % ITEMS;
  source += begin_of(args.a_at, args.a_rest);
  weights += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  group_tile tile = find_group_tile(args, BM, BN);
  int row0 = tile.row0, column0 = tile.column0, group = tile.rest;

  /* The item's column and first channel of a step, for loading and storing. */
  int column = item % BN, first_channel = item / BN;
  tile_position at = tile_position_of(args, column0 + column);
  uint inside = inside_of(args, at);
  int volume = args.iz * args.ih * args.iw;
  int from = at.image * args.a_pitch + (group * args.depth + first_channel) * volume +
             (at.z * args.ih + at.h - args.ph) * args.iw + at.w - args.pw;

  float4 sum[TM * FRAGMENTS];
#pragma unroll
  for (int i = 0; i < TM * FRAGMENTS; i++) sum[i] = (float4)(0.0f);
  local float *a_tiles = room, *b_tiles = room + POINTS * A_POINT;
  for (int term = 0; term < args.depth_up; term += BK) {
    /* What is loaded is on its way while others still multiply. */
    float d[PATCHES][SIDE][SIDE];
    float4 u[WEIGHTS];
#pragma unroll
    for (int i = 0; i < PATCHES; i++) {
      int channel = i * (GROUP / BN);
      load_patch(source + from + (term + channel) * volume, args.iw,
                 term + first_channel + channel < args.depth ? inside : 0u, d[i]);
    }
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++) {
      int four = item + i * GROUP, of = four / (BK * BM / 4), rest = four % (BK * BM / 4);
      int line = (of * args.groups + group) * args.depth_up + term + rest / (BM / 4);
      u[i] = *(global const float4 *)(weights + line * args.rows_up + row0 + rest % (BM / 4) * 4);
    }
    STAY_IN_ORDER();
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < PATCHES; i++)
      transform_patch(d[i], b_tiles + (first_channel + i * (GROUP / BN)) * BN + column, B_POINT);
#pragma unroll
    for (int i = 0; i < WEIGHTS; i++) {
      int four = item + i * GROUP, of = four / (BK * BM / 4), rest = four % (BK * BM / 4);
      *(local float4 *)(a_tiles + of * A_POINT + rest * 4) = u[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tile_multiply(a_tiles + point * A_POINT, BM, b_tiles + point * B_POINT, BN, mine, sum);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
  for (int part = 0; part < TM / 4; part++) {
    hand_over(sum + part * 4 * FRAGMENTS, point, mine, room);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int row = first_channel; row < ROWS; row += GROUP / BN) {
      int to = row0 + part * ROWS + row;
      if (at.there && to < args.rows)
        transform_back(args, at, group * args.rows + to, room + row * BN + column, bias, out);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
