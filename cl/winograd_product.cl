/* The products of Winograd's convolution, one per point and group, with rows_up x columns_up
 * results, each a sum over depth_up terms. All extents are whole tiles, so nothing is tested.
 * Matrices are [term][row] and [term][column]; with TRANSPOSED=1 they are [row][term] and
 * [column][term], and are transposed on their way into local memory. Long sums are cut into slices
 * with one partial result each, which their readers add. */
#ifndef TRANSPOSED
#error "TRANSPOSED is missing: 0 = terms are the rows of both matrices, 1 = their columns"
#endif

#define A_FOURS (BK * BM / 4)
#define B_FOURS (BK * BN / 4)
#define A_LOADS ((A_FOURS + ITEMS - 1) / ITEMS)
#define B_LOADS ((B_FOURS + ITEMS - 1) / ITEMS)

#if TRANSPOSED
/* Items write columns of local memory, which the odd multiple of 4 keeps on different banks. */
#define A_PITCH (BM + 4)
#define B_PITCH (BN + 4)
#else
#define A_PITCH BM
#define B_PITCH BN
#endif

/* Loads are four neighbours. These say where number `four` of a tile `width` wide lies in a matrix,
 * and put it in its place in local memory. */
static int from_of(int four, int width, int pitch) {
#if TRANSPOSED
  return four / (BK / 4) * pitch + four % (BK / 4) * 4;
#else
  return four / (width / 4) * pitch + four % (width / 4) * 4;
#endif
}

static void put(local float *tile, int four, int pitch, float4 v) {
#if TRANSPOSED
  local float *to = tile + four % (BK / 4) * 4 * pitch + four / (BK / 4);
  to[0] = v.x;
  to[pitch] = v.y;
  to[2 * pitch] = v.z;
  to[3 * pitch] = v.w;
#else
  *(local float4 *)(tile + four * 4) = v;
#endif
}

/* Loads BK terms from `term` on. */
static void load_tiles(conv_args args, global const float *a, global const float *b, int term,
                       int item, float4 *a_next, float4 *b_next) {
  int a_pitch = TRANSPOSED ? args.depth_up : args.rows_up;
  int b_pitch = TRANSPOSED ? args.depth_up : args.columns_up;
  a += TRANSPOSED ? term : term * a_pitch;
  b += TRANSPOSED ? term : term * b_pitch;
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int four = item + i * ITEMS;
    if (A_FOURS % ITEMS == 0 || four < A_FOURS)
      a_next[i] = *(global const float4 *)(a + from_of(four, BM, a_pitch));
  }
#pragma unroll
  for (int i = 0; i < B_LOADS; i++) {
    int four = item + i * ITEMS;
    if (B_FOURS % ITEMS == 0 || four < B_FOURS)
      b_next[i] = *(global const float4 *)(b + from_of(four, BN, b_pitch));
  }
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void winograd_product(
    conv_args args, global const float *restrict a, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  local float a_tile[2 * BK * A_PITCH] __attribute__((aligned(16)));
  local float b_tile[2 * BK * B_PITCH] __attribute__((aligned(16)));
  int item = (int)get_local_id(0);

  group_tile tile = find_group_tile(args, BM, BN);
  int row0 = tile.row0, column0 = tile.column0;
  int matrix = tile.rest % args.groups, slice = tile.rest / args.groups;
  int first = slice * args.slice_length, end = min(args.depth_up, first + args.slice_length);

  a += begin_of(args.a_at, args.a_rest) + matrix * args.depth_up * args.rows_up;
  b += begin_of(args.b_at, args.b_rest) + matrix * args.depth_up * args.columns_up;
  a += row0 * (TRANSPOSED ? args.depth_up : 1);
  b += column0 * (TRANSPOSED ? args.depth_up : 1);
  out += begin_of(args.out_at, args.out_rest);
  out += ((slice * args.groups + matrix) * args.rows_up + row0) * args.columns_up + column0;

  float4 sum[TM * FRAGMENTS];
#pragma unroll
  for (int i = 0; i < TM * FRAGMENTS; i++) sum[i] = (float4)(0.0f);

  /* Every round puts a loaded tile into one half of local memory, loads the next one into registers
   * and multiplies. The last round loads its own tile again: no branch, so that loads and
   * arithmetic can be interleaved. */
  float4 a_next[A_LOADS], b_next[B_LOADS];
  load_tiles(args, a, b, first, item, a_next, b_next);
  for (int term = first, odd = 0; term < end; term += BK, odd ^= 1) {
    local float *a_to = a_tile + odd * BK * A_PITCH, *b_to = b_tile + odd * BK * B_PITCH;
#pragma unroll
    for (int i = 0; i < A_LOADS; i++) {
      int four = item + i * ITEMS;
      if (A_FOURS % ITEMS == 0 || four < A_FOURS) put(a_to, four, A_PITCH, a_next[i]);
    }
#pragma unroll
    for (int i = 0; i < B_LOADS; i++) {
      int four = item + i * ITEMS;
      if (B_FOURS % ITEMS == 0 || four < B_FOURS) put(b_to, four, B_PITCH, b_next[i]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    STAY_IN_ORDER(); /* AMD's barrier waits for all loads before it. */
    load_tiles(args, a, b, min(term + BK, end - BK), item, a_next, b_next);
    STAY_IN_ORDER();
    tile_multiply(a_to, A_PITCH, b_to, B_PITCH, item, sum);
  }

#pragma unroll
  for (int j = 0; j < FRAGMENTS; j++) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      *(global float4 *)(out + tile_row(item, i) * args.columns_up + tile_column(item, j)) =
          sum[i * FRAGMENTS + j];
    }
  }
}
