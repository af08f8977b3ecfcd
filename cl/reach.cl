/* Which source positions the results of an item meet, for kernels with the geometry compiled in
 * whose items compute ROWS by COLUMNS neighbouring results. Both directions are one loop over
 * source positions. They differ in the position that a result meets at a tap:
 *
 *   forward        result * stride + tap * dilation - pad
 *   backward_data  (result + pad - tap * dilation) / stride, where that is whole.
 *
 * Across and down, items begin at multiples of the stride, so that it is known beforehand where it
 * is whole. They are one result deep and begin at any depth, where each finds out for itself. */
#ifndef DIRECTION
#error "DIRECTION is missing: 0 = forward, 1 = backward_data"
#endif
#if !defined(ROWS) || !defined(COLUMNS) || !defined(WG)
#error "a size is missing: ROWS, COLUMNS, WG"
#endif
#if !defined(WEIGHTS_IN) || !defined(WEIGHTS_PER_TAP)
#error "the weights are missing: WEIGHTS_IN, global or local, and how many lie together for a tap"
#endif
#if SPACE != 2
#error "the geometry must be compiled in"
#endif
#if DIRECTION == 1 && (ROWS % STRIDE_1 != 0 || COLUMNS % STRIDE_2 != 0)
#error "the stride must divide ROWS and COLUMNS"
#endif

/* So many taps of a row are unrolled together; longer rows take several rounds. */
#define TAPS_AT_ONCE (FILTER_2 <= 16 ? FILTER_2 : 16)
#define WHOLE_ROUNDS (FILTER_2 % TAPS_AT_ONCE == 0)

#if DIRECTION == 0
/* Of one axis, for an item that begins at result `from`: its first source position, and how many it
 * reaches with `results` results and `taps` taps. */
#define FIRST(from, taps, stride, pad, dilation) ((from) * (stride) - (pad))
#define REACH(results, taps, stride, pad, dilation) \
  (((results)-1) * (stride) + ((taps)-1) * (dilation) + 1)
/* What result `at` and source position `i`, both counted from the item's first, have between them:
 * tap * dilation, if that is a multiple of the dilation and there is such a tap. */
#define BETWEEN(at, i, taps, stride, pad, dilation) ((i) - (at) * (stride))
/* Whether result `at` meets tap `tap` anywhere, and at which position counted from the first. */
#define MEETS(at, tap, taps, stride, pad, dilation) 1
#define MEETING(at, tap, taps, stride, pad, dilation) ((at) * (stride) + (tap) * (dilation))
/* Where a round of taps begins. */
#define ROUND(s0) ((s0)*DILATION_2)
#else
/* a / stride rounded down, also below 0. */
#define DOWN(a, taps, stride, dilation) \
  (((a) + (taps) * (dilation) * (stride)) / (stride) - (taps) * (dilation))
#define LOW(taps, stride, pad, dilation) \
  DOWN((pad) - ((taps)-1) * (dilation), taps, stride, dilation)
#define FIRST(from, taps, stride, pad, dilation) \
  ((from) / (stride) + LOW(taps, stride, pad, dilation))
#define REACH(results, taps, stride, pad, dilation) \
  (((results)-1 + (pad)) / (stride)-LOW(taps, stride, pad, dilation) + 1)
#define BETWEEN(at, i, taps, stride, pad, dilation) \
  ((at) + (pad) - ((i) + LOW(taps, stride, pad, dilation)) * (stride))
#define MEETS(at, tap, taps, stride, pad, dilation) \
  (((at) + (pad) + ((taps) * (stride) - (tap)) * (dilation)) % (stride) == 0)
#define MEETING(at, tap, taps, stride, pad, dilation)                \
  (DOWN((at) + (pad) - (tap) * (dilation), taps, stride, dilation) - \
   LOW(taps, stride, pad, dilation))
#define ROUND(s0) (-((s0)*DILATION_2 / STRIDE_2))
#endif

/* So many results in depth have their first source position in common. */
#define DEEP (DIRECTION == 0 ? 1 : STRIDE_0)
#define REACH_Z REACH(DEEP, FILTER_0, STRIDE_0, PAD_0, DILATION_0)
#define REACH_H REACH(ROWS, FILTER_1, STRIDE_1, PAD_1, DILATION_1)
#define REACH_W REACH(COLUMNS, TAPS_AT_ONCE, STRIDE_2, PAD_2, DILATION_2)
/* Rows of the source are unrolled where several rows of results share them. */
#define UNROLLED_ROWS (ROWS > 1 ? REACH_H : 1)

/* Where an item lies: its first result, and the first source position that it reaches. In depth,
 * several results reach from there, and it is said which of them is its own. */
typedef struct item_tile {
  int z, h, w, outer; /* `outer`: what lies around space: image, or image and map */
  int z0, h0, w0, z_at;
} item_tile;

static item_tile find_item_tile(int id) {
  int across = (RESULT_W + COLUMNS - 1) / COLUMNS, down = (RESULT_H + ROWS - 1) / ROWS;
  item_tile p;
  p.w = id % across * COLUMNS;
  p.h = id / across % down * ROWS;
  p.z = id / across / down % RESULT_Z;
  p.outer = id / across / down / RESULT_Z;
  p.z_at = p.z % DEEP;
  p.z0 = FIRST(p.z, FILTER_0, STRIDE_0, PAD_0, DILATION_0);
  p.h0 = FIRST(p.h, FILTER_1, STRIDE_1, PAD_1, DILATION_1);
  p.w0 = FIRST(p.w, TAPS_AT_ONCE, STRIDE_2, PAD_2, DILATION_2);
  return p;
}

/* The tap of an axis, or -1, for what `BETWEEN` gave. */
static int tap_of(int between, int dilation, int taps) {
  return between >= 0 && between % dilation == 0 && between / dilation < taps ? between / dilation
                                                                              : -1;
}

/* The tap in depth that an item meets source position z0 + a with, or -1. */
static int tap_in_depth(item_tile p, int a) {
  return tap_of(BETWEEN(p.z_at, a, FILTER_0, STRIDE_0, PAD_0, DILATION_0), DILATION_0, FILTER_0);
}

/* The same for the columns of an item and a round of taps. */
#define COLUMN_MEETS(column, s) MEETS(column, s, TAPS_AT_ONCE, STRIDE_2, PAD_2, DILATION_2)
#define COLUMN_MEETING(column, s) MEETING(column, s, TAPS_AT_ONCE, STRIDE_2, PAD_2, DILATION_2)

/* Loads the source positions of a row that a round of taps from `s0` on meets; outside there are
 * zeros. */
static void load_row(global const float *line, int there, int w0, int s0, float *values) {
  int first = w0 + ROUND(s0);
#pragma unroll
  for (int i = 0; i < REACH_W; i++)
    values[i] = there & within(first + i, SOURCE_W) ? line[first + i] : 0.0f;
}

/* One row of the source meets one row of the filter, which each kernel has its own way for. */
static void add_row(const float *values, WEIGHTS_IN const float *w, int s0, float *sum);

/* Adds what one channel of the source and its weights give. */
static void add_channel(global const float *source, WEIGHTS_IN const float *w, item_tile p,
                        float *sum) {
  for (int a = max(0, -p.z0); a < min(REACH_Z, SOURCE_Z - p.z0); a++) {
    int t = tap_in_depth(p, a);
    if (t < 0) continue;
    int begin = ROWS > 1 ? 0 : max(0, -p.h0);
    int end = ROWS > 1 ? REACH_H : min(REACH_H, SOURCE_H - p.h0);
#pragma unroll UNROLLED_ROWS
    for (int b = begin; b < end; b++) {
      global const float *line = source + ((p.z0 + a) * SOURCE_H + p.h0 + b) * SOURCE_W;
      for (int s0 = 0; s0 < FILTER_2; s0 += TAPS_AT_ONCE) {
        float values[REACH_W];
        load_row(line, within(p.h0 + b, SOURCE_H), p.w0, s0, values);
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
          int r =
              tap_of(BETWEEN(row, b, FILTER_1, STRIDE_1, PAD_1, DILATION_1), DILATION_1, FILTER_1);
          int tap = (t * FILTER_1 + r) * FILTER_2;
          if (r >= 0) add_row(values, w + tap * WEIGHTS_PER_TAP, s0, sum + row * COLUMNS);
        }
      }
    }
  }
}

/* Stores an item's results of one map, channel `channel` of image `n`. */
static void store_tile(conv_args args, global const float *bias, global float *out, int n,
                       int channel, item_tile p, const float *sum) {
  int first = n * args.out_pitch + channel * (RESULT_Z * RESULT_H * RESULT_W);
#pragma unroll
  for (int row = 0; row < ROWS; row++) {
    int to = first + (p.z * RESULT_H + p.h + row) * RESULT_W + p.w;
    const float *of = sum + row * COLUMNS;
#if COLUMNS % 4 == 0 && DIRECTION == 0 && OUT_ALIGNED && OUT_2 % COLUMNS == 0 || \
    COLUMNS % 4 == 0 && DIRECTION == 1 && IN_ALIGNED && IN_2 % COLUMNS == 0
#pragma unroll
    for (int i = 0; i < COLUMNS; i += 4) {
      if (p.h + row < RESULT_H) {
        store_four(args, bias, out, to + i, channel,
                   (float4)(of[i], of[i + 1], of[i + 2], of[i + 3]));
      }
    }
#else
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
      if (p.h + row < RESULT_H && p.w + i < RESULT_W)
        store(args, bias, out, to + i, channel, of[i]);
    }
#endif
  }
}
