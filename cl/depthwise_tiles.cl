/* Depthwise forward and backward_data with the geometry compiled in: an item computes ROWS by
 * COLUMNS neighbouring results of one map, so that what they share of the source is loaded once.
 * See reach.cl. */

/* One row of the source meets one row of the filter. */
static void add_row(const float *values, global const float *w, int s0, float *sum) {
#pragma unroll
  for (int s = 0; s < TAPS_AT_ONCE; s++) {
    if (WHOLE_ROUNDS || s0 + s < FILTER_2) {
      float weight = w[s0 + s];
#pragma unroll
      for (int column = 0; column < COLUMNS; column++) {
        if (COLUMN_MEETS(column, s))
          sum[column] = MULTIPLY_ADD(values[COLUMN_MEETING(column, s)], weight, sum[column]);
      }
    }
  }
}

/* Adds what one map of the source and the weights of one map give. */
static void add_map(global const float *source, global const float *w, item_tile p, float *sum) {
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
          if (r >= 0) add_row(values, w + (t * FILTER_1 + r) * FILTER_2, s0, sum + row * COLUMNS);
        }
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void depthwise_tiles(
    conv_args args, global const float *restrict source, global const float *restrict weights,
    global const float *restrict bias, global float *restrict out) {
  int id = (int)get_global_id(0);
  if (id >= args.items) return;
  source += (size_t)args.a_at * CONV_ALIGN;
  weights += (size_t)args.b_at * CONV_ALIGN;
  bias += (size_t)args.bias_at * CONV_ALIGN;
  out += (size_t)args.out_at * CONV_ALIGN;

  item_tile p = find_item_tile(id);
  int map = p.outer, volume = SOURCE_Z * SOURCE_H * SOURCE_W, each = args.k / args.c;
  float sum[ROWS * COLUMNS];
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS; i++) sum[i] = 0.0f;
#if DIRECTION == 0
  int channel = map % args.k;
  add_map(source + (map / args.k * args.c + channel / each) * volume, weights + channel * TAPS, p,
          sum);
#else
  int channel = map % args.c;
  for (int i = 0; i < each; i++)
    add_map(source + (map * each + i) * volume, weights + (channel * each + i) * TAPS, p, sum);
#endif
  store_tile(args, bias, out, map, channel, p, sum);
}
