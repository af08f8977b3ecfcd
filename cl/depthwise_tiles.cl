/* Depthwise forward and backward_data with the geometry compiled in: an item computes ROWS by
 * COLUMNS neighbouring results of one map, so that what they share of the source is loaded once.
 * See reach.cl. */

/* sum[column] += row of the source * row of the filter. */
static void add_row(const float *values, WEIGHTS_IN const float *w, int s0, float *sum) {
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

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void depthwise_tiles(
    conv_args args, global const float *restrict source, global const float *restrict weights,
    global const float *restrict bias, global float *restrict out) {
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
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
  add_channel(source + (map / args.k * args.c + channel / each) * volume, weights + channel * TAPS,
              p, sum);
#else
  int channel = map % args.c;
  for (int i = 0; i < each; i++)
    add_channel(source + (map * each + i) * volume, weights + (channel * each + i) * TAPS, p, sum);
#endif
  store_tile(args, bias, out, map, channel, p, sum);
}
