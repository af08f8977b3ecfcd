/* backward_weights of few input channels whose filter rows are long: rows of dy meet shifted rows
 * of x. A work-group computes CHANNELS output channels by ACROSS * COLUMNS taps of one filter row
 * over a slice of the rows of dy, which are taken in pieces of POSITIONS. An item has COLUMNS taps
 * of all the channels, for four of every 4 * ALONG positions. Its taps are fours, ACROSS fours
 * apart, so that what neighbours read lies side by side. For four taps and four positions the item
 * holds a window of x, every value of which meets several of both. */
#if !defined(CHANNELS) || !defined(COLUMNS) || !defined(ACROSS) || !defined(ALONG) || \
    !defined(POSITIONS)
#error "a size is missing: CHANNELS, COLUMNS, ACROSS, ALONG, POSITIONS"
#endif
#if COLUMNS % 4 != 0 || POSITIONS % 4 != 0
#error "4 must divide COLUMNS and POSITIONS"
#endif
#if SPACE != 2
#error "the geometry must be compiled in"
#endif
#define ITEMS (ACROSS * ALONG)
#define TILE (ACROSS * COLUMNS)
#define TILES ((FILTER_2 + TILE - 1) / TILE)
#define PIECES ((OUT_2 + POSITIONS - 1) / POSITIONS)
#define ROWS_OF_FILTER (FILTER_0 * FILTER_1)
/* The float4 that hold what of x four taps meet at four positions. */
#define FOURS ((3 * STRIDE_2 + 3 * DILATION_2 + 4) / 4)
#define X_COUNT ((POSITIONS - 4) * STRIDE_2 + (TILE - 4) * DILATION_2 + 4 * FOURS)
/* So many channels' sums are added up together at the end. */
#define TOGETHER (CHANNELS % 2 == 0 ? 2 : 1)
#define PARTS (TOGETHER * COLUMNS * ITEMS)
#define TILE_FLOATS (CHANNELS * POSITIONS + X_COUNT)
#define LOCAL_FLOATS (TILE_FLOATS > PARTS ? TILE_FLOATS : PARTS)
/* An item has so many loads under way at a time. */
#define AT_ONCE 8

/* The weights that a work-group computes: channels from k on, taps from s on of filter row (c, t,
 * r). */
typedef struct weights_tile {
  int k, s, c, t, r, slice;
} weights_tile;

static weights_tile find_tile(conv_args args, int group) {
  weights_tile p;
  p.k = group % args.row_tiles * CHANNELS;
  group /= args.row_tiles;
  p.s = group % TILES * TILE;
  group /= TILES;
  p.r = group % FILTER_1;
  p.t = group / FILTER_1 % FILTER_0;
  p.c = group / ROWS_OF_FILTER % args.c;
  p.slice = group / ROWS_OF_FILTER / args.c;
  return p;
}

/* Brings POSITIONS of CHANNELS rows of dy to local memory, from `first` on, with zeros behind their
 * end. */
static void stage_dy(global const float *dy, int row, int volume, int channels, int first,
                     local float *staged) {
  for (int e0 = (int)get_local_id(0); e0 < CHANNELS * POSITIONS; e0 += AT_ONCE * ITEMS) {
    float v[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int e = e0 + i * ITEMS, k = e / POSITIONS, w = first + e % POSITIONS;
      v[i] = LOADED(float, (k < channels) & (w < OUT_2), dy, row + k * volume + w);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int e = e0 + i * ITEMS, k = e / POSITIONS, w = first + e % POSITIONS;
      if (e < CHANNELS * POSITIONS) staged[e] = KEPT(float, (k < channels) & (w < OUT_2), v[i]);
    }
  }
}

/* Brings what they meet of a row of x. */
static void stage_x(global const float *x, int row, int first, local float *staged) {
  for (int e = (int)get_local_id(0); e < X_COUNT; e += ITEMS) {
    int there = within(first + e, IN_2);
    float v = LOADED(float, there, x, row + first + e);
    staged[e] = KEPT(float, there, v);
  }
}

static void load_fours(local const float *from, int count, float *out) {
#pragma unroll
  for (int i = 0; i < count; i++) {
    float4 four = *(local const float4 *)(from + 4 * i);
    out[4 * i] = four.x, out[4 * i + 1] = four.y, out[4 * i + 2] = four.z, out[4 * i + 3] = four.w;
  }
}

/* Adds what `count` positions give, four at a time. */
static void add_piece(local const float *dy, local const float *x, int count, float *sum) {
  int across = (int)get_local_id(0) % ACROSS, along = (int)get_local_id(0) / ACROSS;
  for (int w = 4 * along; w < count; w += 4 * ALONG) {
    float gradient[CHANNELS * 4];
#pragma unroll
    for (int k = 0; k < CHANNELS; k++) load_fours(dy + k * POSITIONS + w, 1, gradient + 4 * k);
#pragma unroll
    for (int block = 0; block < COLUMNS; block += 4) {
      float window[4 * FOURS];
      load_fours(x + w * STRIDE_2 + (block * ACROSS + 4 * across) * DILATION_2, FOURS, window);
#pragma unroll
      for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int s = 0; s < 4; s++) {
#pragma unroll
          for (int k = 0; k < CHANNELS; k++) {
            sum[k * COLUMNS + block + s] =
                MULTIPLY_ADD(gradient[k * 4 + i], window[i * STRIDE_2 + s * DILATION_2],
                             sum[k * COLUMNS + block + s]);
          }
        }
      }
    }
  }
}

/* Adds up what the items along the positions have, in their order, and stores it. */
static void store_weights(conv_args args, global const float *bias, global float *out,
                          weights_tile p, local float *parts, const float *sum) {
  int item = (int)get_local_id(0);
  int row = (p.c * FILTER_0 + p.t) * FILTER_1 + p.r, rows = args.c * ROWS_OF_FILTER;
#pragma unroll
  for (int k = 0; k < CHANNELS; k += TOGETHER) {
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < TOGETHER * COLUMNS; i++) parts[i * ITEMS + item] = sum[k * COLUMNS + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = item; e < TOGETHER * COLUMNS * ACROSS; e += ITEMS) {
      int i = e / ACROSS, across = e % ACROSS, column = i % COLUMNS;
      int channel = p.k + k + i / COLUMNS;
      int s = p.s + (column / 4 * ACROSS + across) * 4 + column % 4;
      float v = parts[i * ITEMS + across];
#pragma unroll 4
      for (int along = 1; along < ALONG; along++) v += parts[i * ITEMS + along * ACROSS + across];
      if (channel < args.k && s < FILTER_2)
        store(args, bias, out, ((p.slice * args.k + channel) * rows + row) * FILTER_2 + s, 0, v);
    }
  }
}

/* Work-groups are counted over blocks of channels first, then over tiles of a filter row, then over
 * filter rows, then over slices of pieces. */
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void long_rows_weights(
    conv_args args, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict out) {
  local float memory[LOCAL_FLOATS] __attribute__((aligned(16)));
  local float *staged_x = memory + CHANNELS * POSITIONS;
  x += begin_of(args.a_at, args.a_rest);
  dy += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);
  weights_tile p = find_tile(args, args.first_group + (int)get_group_id(0));

  float sum[CHANNELS * COLUMNS];
#pragma unroll
  for (int i = 0; i < CHANNELS * COLUMNS; i++) sum[i] = 0.0f;
  int begin = p.slice * args.slice_length, end = min(args.items, begin + args.slice_length);
  for (int piece = begin; piece < end; piece++) {
    int first = piece % PIECES * POSITIONS, row = piece / PIECES;
    int h = row % OUT_1, z = row / OUT_1 % OUT_0, n = row / OUT_1 / OUT_0;
    int in_z = z * STRIDE_0 - PAD_0 + p.t * DILATION_0;
    int in_h = h * STRIDE_1 - PAD_1 + p.r * DILATION_1;
    int there = within(in_z, IN_0) & within(in_h, IN_1); /* for the whole work-group */
    int of_dy = n * args.b_pitch + ((p.k * OUT_0 + z) * OUT_1 + h) * OUT_2;
    int of_x = n * args.a_pitch + ((p.c * IN_0 + in_z) * IN_1 + in_h) * IN_2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (there) {
      stage_dy(dy, of_dy, OUT_0 * OUT_1 * OUT_2, args.k - p.k, first, memory);
      stage_x(x, of_x, first * STRIDE_2 - PAD_2 + p.s * DILATION_2, staged_x);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (there) add_piece(memory, staged_x, min(POSITIONS, OUT_2 - first), sum);
  }
  store_weights(args, bias, out, p, memory, sum);
}
