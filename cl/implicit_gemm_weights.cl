/* backward_weights as a tiled matrix product without a column buffer. Rows are the output channels
 * of a group, columns are the weights of such a row (channel, tap), and terms are the output
 * positions of all images. The long sum is cut into slices with one partial result each, which
 * reduce_split_k adds in their order; a single slice is the result.
 *
 * Both arrays lie in memory with positions innermost, so tiles are [row][position] as well, and
 * nothing is transposed. An item's fragments are float4 along positions. Rows and columns of items
 * are interleaved, and a pitch of an odd multiple of 4 keeps them on different banks. */
#if !defined(BM) || !defined(BN) || !defined(BK) || !defined(TM) || !defined(TN)
#error "a tile parameter is missing: BM, BN, BK, TM, TN"
#endif
#if BM % TM != 0 || BN % TN != 0 || BK % 8 != 0
#error "TM must divide BM, TN must divide BN and 8 must divide BK"
#endif
#define ROWS_OF_ITEMS (BM / TM)
#define COLUMNS_OF_ITEMS (BN / TN)
#define ITEMS (ROWS_OF_ITEMS * COLUMNS_OF_ITEMS)
#if ITEMS % BK != 0
#error "BK must divide the items per work-group"
#endif
#define PITCH (BK + 4)

/* How many positions an item loads at once, hence which rows and columns it loads. */
#define A_WIDTH (FOURS_OUT ? 4 : 1)
#define B_WIDTH (PLAIN && FOURS_OUT ? 4 : 1)
#define A_STEP (ITEMS / (BK / A_WIDTH))
#define B_STEP (ITEMS / (BK / B_WIDTH))
#define A_LOADS ((BM + A_STEP - 1) / A_STEP)
#define B_LOADS ((BN + B_STEP - 1) / B_STEP)
#if FOURS_OUT
typedef float4 a_load;
#else
typedef float a_load;
#endif
#if PLAIN && FOURS_OUT
typedef float4 b_load;
#else
typedef float b_load;
#endif

/* Where few taps are known beforehand, it is one bit each which of them meet the input, found once
 * per step; otherwise each column's shift is looked up in local memory. */
#define TAP_BITS (TAPS > 0 && TAPS <= 32)

/* A position outside every extent, and still so after adding any shift. */
#define NOWHERE (-(1 << 30))

/* An output position: its image, its index in a channel, and the input position of tap 0. */
typedef struct output_position {
  int n, at, z, h, w;
} output_position;

static output_position output_position_of(conv_args args, int term) {
  int volume = args.oz * args.oh * args.ow;
  output_position p;
  p.n = term / volume;
  p.at = term % volume;
  p.z = p.at / args.ow / args.oh * args.sz - args.pz;
  p.h = p.at / args.ow % args.oh * args.sh - args.ph;
  p.w = p.at % args.ow * args.sw - args.pw;
  return p;
}

#if TAP_BITS
static uint taps_inside(conv_args args, output_position p) {
  uint w = 0, hw = 0, zhw = 0;
#pragma unroll
  for (int s = 0; s < FILTER_2; s++) w |= (uint)within(p.w + s * args.dw, args.iw) << s;
#pragma unroll
  for (int r = 0; r < FILTER_1; r++)
    hw |= (within(p.h + r * args.dh, args.ih) ? w : 0u) << r * FILTER_2;
#pragma unroll
  for (int t = 0; t < FILTER_0; t++)
    zhw |= (within(p.z + t * args.dz, args.iz) ? hw : 0u) << t * FILTER_1 * FILTER_2;
  return zhw;
}
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void implicit_gemm_weights(
    conv_args given, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict out) {
  local float a_tile[BM * PITCH] __attribute__((aligned(16)));
  local float b_tile[BN * PITCH] __attribute__((aligned(16)));
  conv_args args = in_space(given);
  int item = (int)get_local_id(0);
  x += (size_t)args.a_at * CONV_ALIGN;
  dy += (size_t)args.b_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;

  group_tile tile = find_group_tile(args, BM, BN);
  int row0 = tile.row0, column0 = tile.column0;
  int group = tile.rest % args.groups, slice = tile.rest / args.groups;

  int taps = args.t * args.r * args.s, column_count = args.depth * taps;
  int in_volume = args.iz * args.ih * args.iw, volume = args.oz * args.oh * args.ow;

  int a_position = item % (BK / A_WIDTH) * A_WIDTH, a_row0 = item / (BK / A_WIDTH);
  int b_position = item % (BK / B_WIDTH) * B_WIDTH, b_row0 = item / (BK / B_WIDTH);
#if TAP_BITS
  int from[B_LOADS];
  uint tap[B_LOADS]; /* its bit; none for a column that is not there */
#pragma unroll
  for (int i = 0; i < B_LOADS; i++) {
    int column = column0 + b_row0 + i * B_STEP;
    int of = column % taps;
    int z = of / args.s / args.r * args.dz, h = of / args.s % args.r * args.dh;
    from[i] = column / taps * in_volume + (z * args.ih + h) * args.iw + of % args.s * args.dw;
    tap[i] = column < column_count ? 1u << of : 0u;
  }
#else
  local int4 shift[BN]; /* z, h, w of the column's tap and the offset of tap and channel in x */
  for (int j = item; j < BN; j += ITEMS) {
    int column = column0 + j, of = column % taps;
    int z = of / args.s / args.r * args.dz, h = of / args.s % args.r * args.dh;
    int w = of % args.s * args.dw;
    int offset = column / taps * in_volume + (z * args.ih + h) * args.iw + w;
    shift[j] = (int4)(column < column_count ? z : NOWHERE, h, w, offset);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif

  float sum[TM * TN];
#pragma unroll
  for (int i = 0; i < TM * TN; i++) sum[i] = 0.0f;
  a_load a_next[A_LOADS];
  b_load b_next[B_LOADS];
  uint a_inside[(A_LOADS + 31) / 32], b_inside[(B_LOADS + 31) / 32]; /* one bit each */

  /* Round i loads tile i into registers, multiplies tile i - 1 and stores tile i. */
  int first = slice * args.slice_length, end = min(args.n * volume, first + args.slice_length);
  int row_item = item / COLUMNS_OF_ITEMS, column_item = item % COLUMNS_OF_ITEMS;
  for (int term = first; term < end + BK; term += BK) {
    output_position a = output_position_of(args, term + a_position),
                    b = output_position_of(args, term + b_position);
    int a_there = term + a_position < end, b_there = term + b_position < end;
    int a_from = (a.n * args.k + group * args.rows + row0) * volume + a.at;
#pragma unroll
    for (int i = 0; i < A_LOADS; i++) {
      int row = a_row0 + i * A_STEP;
      int there = a_there & (row0 + row < args.rows) & (BM % A_STEP == 0 || row < BM);
      a_next[i] = LOADED(a_load, there, dy, a_from + row * volume);
      if (i % 32 == 0) a_inside[i / 32] = 0;
      a_inside[i / 32] |= (uint)there << i % 32;
    }
    int b_from =
        (b.n * args.c + group * args.depth) * in_volume + (b.z * args.ih + b.h) * args.iw + b.w;
#if TAP_BITS
    uint bits = b_there ? taps_inside(args, b) : 0u;
#endif
#pragma unroll
    for (int i = 0; i < B_LOADS; i++) {
#if TAP_BITS
      int inside = (bits & tap[i]) != 0;
      int at = b_from + from[i];
#else
      int column = min(b_row0 + i * B_STEP, BN - 1);
      int4 by = shift[column];
      int inside = b_there & within(b.z + by.x, args.iz) & within(b.h + by.y, args.ih) &
                   within(b.w + by.z, args.iw);
      int at = b_from + by.w;
#endif
      b_next[i] = LOADED(b_load, inside, x, at);
      if (i % 32 == 0) b_inside[i / 32] = 0;
      b_inside[i / 32] |= (uint)inside << i % 32;
    }
    if (term > first) {
#pragma unroll
      for (int k = 0; k < BK; k += 4) {
        float4 row[TM];
#pragma unroll
        for (int i = 0; i < TM; i++)
          row[i] = *(local const float4 *)(a_tile + (row_item + i * ROWS_OF_ITEMS) * PITCH + k);
#pragma unroll
        for (int j = 0; j < TN; j++) {
          float4 column =
              *(local const float4 *)(b_tile + (column_item + j * COLUMNS_OF_ITEMS) * PITCH + k);
#pragma unroll
          for (int i = 0; i < TM; i++) {
            float v = sum[i * TN + j];
            v = MULTIPLY_ADD(row[i].x, column.x, v);
            v = MULTIPLY_ADD(row[i].y, column.y, v);
            v = MULTIPLY_ADD(row[i].z, column.z, v);
            sum[i * TN + j] = MULTIPLY_ADD(row[i].w, column.w, v);
          }
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < A_LOADS; i++) {
      int row = a_row0 + i * A_STEP;
      if (BM % A_STEP == 0 || row < BM) {
        *(local a_load *)(a_tile + row * PITCH + a_position) =
            KEPT(a_load, a_inside[i / 32] >> i % 32 & 1, a_next[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < B_LOADS; i++) {
      int column = b_row0 + i * B_STEP;
      if (BN % B_STEP == 0 || column < BN) {
        *(local b_load *)(b_tile + column * PITCH + b_position) =
            KEPT(b_load, b_inside[i / 32] >> i % 32 & 1, b_next[i]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int i = 0; i < TM; i++) {
    int row = row0 + row_item + i * ROWS_OF_ITEMS;
    int to = ((slice * args.groups + group) * args.rows + row) * column_count;
#pragma unroll
    for (int j = 0; j < TN; j++) {
      int column = column0 + column_item + j * COLUMNS_OF_ITEMS;
      if (row < args.rows && column < column_count)
        out[to + column] = args.accumulate ? out[to + column] + sum[i * TN + j] : sum[i * TN + j];
    }
  }
}
