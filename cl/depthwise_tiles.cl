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
  source += begin_of(args.a_at, args.a_rest);
  weights += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  item_tile p = find_item_tile(id);
  int volume = SOURCE_Z * SOURCE_H * SOURCE_W, each = args.k / args.c;
  int maps = DIRECTION == 0 ? args.k : args.c, channel = p.outer % maps, n = p.outer / maps;
  float sum[ROWS * COLUMNS];
#pragma unroll
  for (int i = 0; i < ROWS * COLUMNS; i++) sum[i] = 0.0f;
#if DIRECTION == 0
  add_channel(source + (n * args.a_pitch + channel / each * volume), weights + channel * TAPS, p,
              sum);
#else
  for (int i = 0; i < each; i++) {
    int map = channel * each + i;
    add_channel(source + (n * args.a_pitch + map * volume), weights + map * TAPS, p, sum);
  }
#endif
  store_tile(args, bias, out, n, channel, p, sum);
}
