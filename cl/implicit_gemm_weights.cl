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
#define B_WIDTH (PLAIN && FOURS_IN ? 4 : 1)
#define A_STEP (ITEMS / (BK / A_WIDTH))
#define B_STEP (ITEMS / (BK / B_WIDTH))
#define A_LOADS ((BM + A_STEP - 1) / A_STEP)
#define B_LOADS ((BN + B_STEP - 1) / B_STEP)
#if FOURS_OUT
typedef float4 a_load;
#else
typedef float a_load;
#endif
#if PLAIN && FOURS_IN
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

/* What an item loads: with load i this row of the tile of dy and this column of the tile of x, from
 * this position of the step on. */
static int loaded_row(int item, int i) {
  return item / (BK / A_WIDTH) + i * A_STEP;
}
static int loaded_column(int item, int i) {
  return item / (BK / B_WIDTH) + i * B_STEP;
}
static int row_position(int item) {
  return item % (BK / A_WIDTH) * A_WIDTH;
}
static int column_position(int item) {
  return item % (BK / B_WIDTH) * B_WIDTH;
}

/* How far the tap and the channel of a column lie from tap 0 of channel 0, as a position (z, h, w)
 * and, in the fourth component, as an index of x. */
static int4 shift_of(conv_args args, int column) {
  int of = column % (args.t * args.r * args.s), channel = column / (args.t * args.r * args.s);
  int z = of / args.s / args.r * args.dz, h = of / args.s % args.r * args.dh;
  int w = of % args.s * args.dw;
  return (int4)(z, h, w, channel * args.iz * args.ih * args.iw + (z * args.ih + h) * args.iw + w);
}

#if TAP_BITS
/* Of a column that the item loads it is known how far its index is shifted, and the bit of its tap;
 * a column that is not there has none. */
typedef struct known_column {
  int shift;
  uint bit;
} known_column;

static void find_columns(conv_args args, int column0, int item, known_column *known) {
  int taps = args.t * args.r * args.s;
#pragma unroll
  for (int i = 0; i < B_LOADS; i++) {
    int column = column0 + loaded_column(item, i);
    known[i].shift = shift_of(args, column).w;
    known[i].bit = column < args.depth * taps ? 1u << column % taps : 0u;
  }
}
#else
/* Of all columns of the tile it is known how far they are shifted; a column that is not there lies
 * nowhere. The work-group finds them together. */
typedef int4 known_column;

static void find_columns(conv_args args, int column0, int item, local known_column *known) {
  for (int j = item; j < BN; j += ITEMS) {
    int4 shift = shift_of(args, column0 + j);
    if (column0 + j >= args.depth * args.t * args.r * args.s) shift.x = NOWHERE;
    known[j] = shift;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
#endif

/* Loads what the item loads of dy for the step that begins at output position `term`, of the sum
 * that ends before `end`, and tells which loads had a place, one bit each. The tile begins at row
 * `row0` of the group; as a pointer that is kept over all rounds this took an H200 a tenth longer.
 */
static void load_rows(conv_args args, global const float *dy, int group, int row0, int term,
                      int end, int item, a_load *into, uint *inside) {
  int volume = args.oz * args.oh * args.ow;
  output_position at = output_position_of(args, term + row_position(item));
  int from = at.n * args.b_pitch + (group * args.rows + row0) * volume + at.at;
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int row = loaded_row(item, i);
    int there = (term + row_position(item) < end) & (row0 + row < args.rows) &
                (BM % A_STEP == 0 || row < BM);
    into[i] = LOADED(a_load, there, dy, from + row * volume);
    if (i % 32 == 0) inside[i / 32] = 0;
    inside[i / 32] |= (uint)there << i % 32;
  }
}

/* Puts what was loaded into the tiles. */
static void keep_rows(const a_load *loaded, const uint *inside, int item, local float *tile) {
#pragma unroll
  for (int i = 0; i < A_LOADS; i++) {
    int row = loaded_row(item, i);
    if (BM % A_STEP == 0 || row < BM) {
      *(local a_load *)(tile + row * PITCH + row_position(item)) =
          KEPT(a_load, inside[i / 32] >> i % 32 & 1, loaded[i]);
    }
  }
}

static void keep_columns(const b_load *loaded, const uint *inside, int item, local float *tile) {
#pragma unroll
  for (int i = 0; i < B_LOADS; i++) {
    int column = loaded_column(item, i);
    if (BN % B_STEP == 0 || column < BN) {
      *(local b_load *)(tile + column * PITCH + column_position(item)) =
          KEPT(b_load, inside[i / 32] >> i % 32 & 1, loaded[i]);
    }
  }
}

/* Row i and column j of the results of an item inside the tile. */
static int result_row(int item, int i) {
  return item / COLUMNS_OF_ITEMS + i * ROWS_OF_ITEMS;
}
static int result_column(int item, int j) {
  return item % COLUMNS_OF_ITEMS + j * COLUMNS_OF_ITEMS;
}

/* sum[i][j] += row i * column j over the BK positions of a step. */
static void multiply_tiles(local const float *rows, local const float *columns, int item,
                           float *sum) {
#pragma unroll
  for (int k = 0; k < BK; k += 4) {
    float4 row[TM];
#pragma unroll
    for (int i = 0; i < TM; i++)
      row[i] = *(local const float4 *)(rows + result_row(item, i) * PITCH + k);
#pragma unroll
    for (int j = 0; j < TN; j++) {
      float4 column = *(local const float4 *)(columns + result_column(item, j) * PITCH + k);
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
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void implicit_gemm_weights(
    conv_args given, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict out) {
  local float a_tile[BM * PITCH] __attribute__((aligned(16)));
  local float b_tile[BN * PITCH] __attribute__((aligned(16)));
  conv_args args = in_space(given);
  int item = (int)get_local_id(0);
  x += begin_of(args.a_at, args.a_rest);
  dy += begin_of(args.b_at, args.b_rest);
  out += begin_of(args.out_at, args.out_rest);

  group_tile tile = find_group_tile(args, BM, BN);
  int row0 = tile.row0, column0 = tile.column0;
  int group = tile.rest % args.groups, slice = tile.rest / args.groups;
  int in_volume = args.iz * args.ih * args.iw, volume = args.oz * args.oh * args.ow;
#if TAP_BITS
  known_column known[B_LOADS];
#else
  local known_column known[BN];
#endif
  find_columns(args, column0, item, known);

  float sum[TM * TN];
#pragma unroll
  for (int i = 0; i < TM * TN; i++) sum[i] = 0.0f;
  a_load a_next[A_LOADS];
  b_load b_next[B_LOADS];
  uint a_inside[(A_LOADS + 31) / 32], b_inside[(B_LOADS + 31) / 32]; /* one bit each */

  /* Round i loads tile i into registers, multiplies tile i - 1 and stores tile i. */
  int first = slice * args.slice_length, end = min(args.n * volume, first + args.slice_length);
  for (int term = first; term < end + BK; term += BK) {
    load_rows(args, dy, group, row0, term, end, item, a_next, a_inside);
    /* As a function of its own this takes more registers on gfx1010, for 1x1 and for wide tiles. */
    int b_position = term + column_position(item), b_there = b_position < end;
    output_position b = output_position_of(args, b_position);
    int b_from =
        b.n * args.a_pitch + group * args.depth * in_volume + (b.z * args.ih + b.h) * args.iw + b.w;
#if TAP_BITS
    uint bits = b_there ? taps_inside(args, b) : 0u;
#endif
#pragma unroll
    for (int i = 0; i < B_LOADS; i++) {
#if TAP_BITS
      int inside = (bits & known[i].bit) != 0;
      int at = b_from + known[i].shift;
#else
      int4 by = known[min(loaded_column(item, i), BN - 1)];
      int inside = b_there & within(b.z + by.x, args.iz) & within(b.h + by.y, args.ih) &
                   within(b.w + by.z, args.iw);
      int at = b_from + by.w;
#endif
      b_next[i] = LOADED(b_load, inside, x, at);
      if (i % 32 == 0) b_inside[i / 32] = 0;
      b_inside[i / 32] |= (uint)inside << i % 32;
    }
    if (term > first) {
      multiply_tiles(a_tile, b_tile, item, sum);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    keep_rows(a_next, a_inside, item, a_tile);
    keep_columns(b_next, b_inside, item, b_tile);
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  int column_count = args.depth * args.t * args.r * args.s;
#pragma unroll
  for (int i = 0; i < TM; i++) {
    int row = row0 + result_row(item, 0) + i * ROWS_OF_ITEMS;
    int to = ((slice * args.groups + group) * args.rows + row) * column_count;
#pragma unroll
    for (int j = 0; j < TN; j++) {
      int column = column0 + result_column(item, 0) + j * COLUMNS_OF_ITEMS;
      if (row < args.rows && column < column_count)
        out[to + column] = args.accumulate ? out[to + column] + sum[i * TN + j] : sum[i * TN + j];
    }
  }
}
