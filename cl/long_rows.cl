/* forward and backward_data of few input channels whose filter rows are long, without stride and
 * dilation along the row. Both are one sum over the source rows that a row of results meets; these
 * are called lines.
 *
 * A work-group computes CHANNELS channels of TILE neighbours of one row of results. An item has
 * COLUMNS of them, and ITEMS_PER_RESULT items share these and take turns at the lines. A line lies
 * in local memory in blocks of COLUMNS. If the item's results meet block b at some COLUMNS taps,
 * they meet block b + 1 at the next ones, so two blocks in registers, one of them loaded per step,
 * serve COLUMNS * COLUMNS multiply-adds per channel. */
#if !defined(ITEMS) || !defined(CHANNELS) || !defined(COLUMNS) || !defined(ITEMS_PER_RESULT)
#error "a size is missing: ITEMS, CHANNELS, COLUMNS, ITEMS_PER_RESULT"
#endif
#ifndef DIRECTION
#error "DIRECTION is missing: 0 = forward, 1 = backward_data"
#endif
#if ITEMS % ITEMS_PER_RESULT != 0 || COLUMNS % 4 != 0
#error "ITEMS_PER_RESULT must divide ITEMS and 4 must divide COLUMNS"
#endif
#if SPACE != 2 || STRIDE_2 != 1 || DILATION_2 != 1
#error "the geometry must be compiled in, and have neither stride nor dilation along the row"
#endif

#if DIRECTION == 0
/* The source position at which result 0 meets its first tap. */
#define BEFORE (-PAD_2)
#else
#define BEFORE (PAD_2 - FILTER_2 + 1)
#endif
#define ROWS_OF_FILTER (FILTER_0 * FILTER_1)

#define ACROSS (ITEMS / ITEMS_PER_RESULT)
#define TILE (ACROSS * COLUMNS)
#define TILES ((RESULT_W + TILE - 1) / TILE)
/* A line takes whole steps of COLUMNS taps, and one with the rest. */
#define WHOLE (FILTER_2 / COLUMNS)
#define REST (FILTER_2 % COLUMNS)
#define STEPS (WHOLE + (REST > 0))
#define UNROLLED (WHOLE <= 4 ? 4 : 2)
/* Neighbours read float4, and no two of eight read the same banks. */
#define PITCH (COLUMNS % 8 == 0 ? COLUMNS + 4 : COLUMNS)
#define SPAN ((ACROSS + STEPS) * COLUMNS)
#define LINE ((ACROSS + STEPS) * PITCH)
#define LOADS ((SPAN + ACROSS - 1) / ACROSS)
/* Taps of one line in local memory: [channel][tap, in the order in which results meet them]. */
#define STAGED_TAPS (STEPS * COLUMNS)

/* The part of the result that a work-group computes. */
typedef struct row_tile {
  int channel, w, h, z, n;
} row_tile;

static row_tile find_tile(conv_args args, int group) {
  row_tile p;
  p.channel = group % args.row_tiles * CHANNELS;
  group /= args.row_tiles;
  p.w = group % TILES * TILE;
  p.h = group / TILES % RESULT_H;
  p.z = group / TILES / RESULT_H % RESULT_Z;
  p.n = group / TILES / RESULT_H / RESULT_Z;
  return p;
}

static int source_at(int at, int tap, int pad, int dilation, int stride, int extent) {
#if DIRECTION == 0
  int i = at * stride - pad + tap * dilation;
  return within(i, extent) ? i : -1;
#else
  return target(at, tap, pad, dilation, stride, extent);
#endif
}

/* Where line `index` begins in the source, or -1 where it lies outside or behind the last line. */
static int find_line(conv_args args, row_tile p, int sources, int index) {
  int channel = index / ROWS_OF_FILTER, row = index % ROWS_OF_FILTER;
  int z = source_at(p.z, row / FILTER_1, PAD_0, DILATION_0, STRIDE_0, SOURCE_Z);
  int h = source_at(p.h, row % FILTER_1, PAD_1, DILATION_1, STRIDE_1, SOURCE_H);
  if (channel >= sources || z < 0 || h < 0) return -1;
  return p.n * args.a_pitch + ((channel * SOURCE_Z + z) * SOURCE_H + h) * SOURCE_W;
}

static void load_line(global const float *source, int line, int first, float *next) {
#pragma unroll
  for (int i = 0; i < LOADS; i++) {
    int at = first + i * ACROSS;
    next[i] = LOADED(float, (line >= 0) & within(at, SOURCE_W), source, line + at);
  }
}

static void keep_line(const float *next, int there, int first, int across, local float *line) {
#pragma unroll
  for (int i = 0; i < LOADS; i++) {
    int j = across + i * ACROSS;
    if (SPAN % ACROSS == 0 || j < SPAN) {
      line[j / COLUMNS * PITCH + j % COLUMNS] =
          KEPT(float, there &within(first + i * ACROSS, SOURCE_W), next[i]);
    }
  }
}

static void stage_taps(conv_args args, global const float *weights, int channel0, int index,
                       int across, local float *staged) {
  int sources = DIRECTION == 0 ? args.c : args.k, results = DIRECTION == 0 ? args.k : args.c;
  int source = index / ROWS_OF_FILTER, row = index % ROWS_OF_FILTER;
  for (int e = across; e < CHANNELS * STAGED_TAPS; e += ACROSS) {
    int tap = e % STAGED_TAPS, channel = channel0 + e / STAGED_TAPS;
    int s = DIRECTION == 0 ? tap : FILTER_2 - 1 - tap;
    int map = DIRECTION == 0 ? channel * args.c + source : source * args.c + channel;
    int there = (tap < FILTER_2) & (channel < results) & (source < sources);
    staged[e] = there ? weights[(map * ROWS_OF_FILTER + row) * FILTER_2 + s] : 0.0f;
  }
}

static void load_block(local const float *from, float *block) {
#pragma unroll
  for (int i = 0; i < COLUMNS; i += 4) {
    float4 four = *(local const float4 *)(from + i);
    block[i] = four.x, block[i + 1] = four.y, block[i + 2] = four.z, block[i + 3] = four.w;
  }
}

/* The item's results meet `taps` taps in two neighbouring blocks. */
static void add_step(const float *low, const float *high, local const float *staged, int taps,
                     float *sum) {
#pragma unroll
  for (int c = 0; c < CHANNELS; c++) {
#pragma unroll
    for (int s0 = 0; s0 < taps; s0 += 4) {
      float4 four = *(local const float4 *)(staged + c * STAGED_TAPS + s0);
      const float weight[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; i++) {
        int s = s0 + i;
#pragma unroll
        for (int column = 0; column < COLUMNS; column++) {
          if (s < taps) {
            sum[c * COLUMNS + column] =
                MULTIPLY_ADD(column + s < COLUMNS ? low[column + s] : high[column + s - COLUMNS],
                             weight[i], sum[c * COLUMNS + column]);
          }
        }
      }
    }
  }
}

static void add_line(local const float *line, local const float *staged, float *sum) {
  float low[COLUMNS], high[COLUMNS];
  load_block(line, low);
#pragma unroll UNROLLED
  for (int step = 0; step < WHOLE; step++) {
    load_block(line + (step + 1) * PITCH, high);
    add_step(low, high, staged + step * COLUMNS, COLUMNS, sum);
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) low[i] = high[i];
  }
#if REST > 0
  load_block(line + STEPS * PITCH, high);
  add_step(low, high, staged + WHOLE * COLUMNS, REST, sum);
#endif
}

/* The sums of ITEMS_PER_RESULT items meet in local memory, from where neighbours are stored
 * together. */
static void store_row(conv_args args, global const float *bias, global float *out, row_tile p,
                      local float *lines, const float *sum) {
  int item = (int)get_local_id(0), across = item % ACROSS, member = item / ACROSS;
  int results = DIRECTION == 0 ? args.k : args.c;
#pragma unroll
  for (int c = 0; c < CHANNELS; c++) {
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < COLUMNS; i += 4) {
      *(local float4 *)(lines + member * LINE + across * PITCH + i) =
          (float4)(sum[c * COLUMNS + i], sum[c * COLUMNS + i + 1], sum[c * COLUMNS + i + 2],
                   sum[c * COLUMNS + i + 3]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int row = ((p.channel + c) * RESULT_Z + p.z) * RESULT_H + p.h;
    int to = p.n * args.out_pitch + row * RESULT_W + p.w;
    for (int e = item; e < TILE; e += ITEMS) {
      int at = e / COLUMNS * PITCH + e % COLUMNS;
      float v = lines[at];
#pragma unroll
      for (int i = 1; i < ITEMS_PER_RESULT; i++) v += lines[i * LINE + at];
      if (p.w + e < RESULT_W && p.channel + c < results)
        store(args, bias, out, to + e, p.channel + c, v);
    }
  }
}

/* Work-groups are counted over blocks of CHANNELS result channels first, then over tiles of a row,
 * then over rows. */
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void long_rows(
    conv_args args, global const float *restrict source, global const float *restrict weights,
    global const float *restrict bias, global float *restrict out) {
  local float lines[ITEMS_PER_RESULT * LINE] __attribute__((aligned(16)));
  local float staged[ITEMS_PER_RESULT * CHANNELS * STAGED_TAPS] __attribute__((aligned(16)));
  source += begin_of(args.a_at, args.a_rest);
  weights += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);
  int across = (int)get_local_id(0) % ACROSS, member = (int)get_local_id(0) / ACROSS;
  int sources = DIRECTION == 0 ? args.c : args.k, count = sources * ROWS_OF_FILTER;
  row_tile p = find_tile(args, args.first_group + (int)get_group_id(0));
  int first = p.w + BEFORE + across;
  local float *own_line = lines + member * LINE;
  local float *own_taps = staged + member * CHANNELS * STAGED_TAPS;

  float sum[CHANNELS * COLUMNS], next[LOADS];
#pragma unroll
  for (int i = 0; i < CHANNELS * COLUMNS; i++) sum[i] = 0.0f;
  int line = find_line(args, p, sources, member);
  load_line(source, line, first, next);
  for (int l = 0; l < count; l += ITEMS_PER_RESULT) {
    int now = line;
    barrier(CLK_LOCAL_MEM_FENCE);
    keep_line(next, now >= 0, first, across, own_line);
    stage_taps(args, weights, p.channel, l + member, across, own_taps);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l + ITEMS_PER_RESULT < count) {
      line = find_line(args, p, sources, l + ITEMS_PER_RESULT + member);
      load_line(source, line, first, next);
      STAY_IN_ORDER();
    }
    if (now >= 0) add_line(own_line + across * PITCH, own_taps, sum);
  }
  store_row(args, bias, out, p, lines, sum);
}
