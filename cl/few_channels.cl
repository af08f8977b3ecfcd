/* forward and backward_data of layers with few input channels. An item computes CHANNELS channels
 * of ROWS by COLUMNS neighbouring results, so that a loaded row serves all of them; see reach.cl.
 * Weights pass through local memory as [source channel][tap][WEIGHTS_PER_TAP], SOURCES channels at
 * a time. */
#if !defined(CHANNELS) || !defined(SOURCES)
#error "a size is missing: CHANNELS of an item, SOURCES in local memory"
#endif
#define RESULTS (ROWS * COLUMNS)

/* Brings the weights of source channels [c0, c0 + SOURCES) for result channels [k0, k0 + CHANNELS)
 * to local memory. */
static void stage_weights(conv_args args, global const float *weights, int k0, int c0,
                          local float *staged) {
#if DIRECTION == 0
  int sources = args.c, results = args.k;
#else
  int sources = args.k, results = args.c;
#endif
  for (int e = (int)get_local_id(0); e < SOURCES * TAPS * WEIGHTS_PER_TAP; e += WG) {
    int k = k0 + e % WEIGHTS_PER_TAP, tap = e / WEIGHTS_PER_TAP % TAPS,
        c = c0 + e / WEIGHTS_PER_TAP / TAPS;
    int from = DIRECTION == 0 ? k * sources + c : c * results + k;
    staged[e] = k < results && c < sources ? weights[from * TAPS + tap] : 0.0f;
  }
}

/* sum[channel][column] += row of the source * row of the filter of the channel. */
static void add_row(const float *values, WEIGHTS_IN const float *w, int s0, float *sum) {
#pragma unroll
  for (int s = 0; s < TAPS_AT_ONCE; s++) {
    if (WHOLE_ROUNDS || s0 + s < FILTER_2) {
#pragma unroll
      for (int k = 0; k < CHANNELS; k++) {
        float weight = w[(s0 + s) * WEIGHTS_PER_TAP + k];
#pragma unroll
        for (int column = 0; column < COLUMNS; column++) {
          if (COLUMN_MEETS(column, s)) {
            sum[k * RESULTS + column] =
                MULTIPLY_ADD(values[COLUMN_MEETING(column, s)], weight, sum[k * RESULTS + column]);
          }
        }
      }
    }
  }
}

/* Work-groups are counted over blocks of CHANNELS result channels first, then over WG items of all
 * images. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void few_channels(
    conv_args args, global const float *restrict source, global const float *restrict weights,
    global const float *restrict bias, global float *restrict out) {
  local float staged[SOURCES * TAPS * WEIGHTS_PER_TAP] __attribute__((aligned(16)));
  source += begin_of(args.a_at, args.a_rest);
  weights += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);
#if DIRECTION == 0
  int sources = args.c, results = args.k;
#else
  int sources = args.k, results = args.c;
#endif
  int group = args.first_group + (int)get_group_id(0);
  int k0 = group % args.row_tiles * CHANNELS;
  int id = group / args.row_tiles * WG + (int)get_local_id(0);
  int there = id < args.items, volume = SOURCE_Z * SOURCE_H * SOURCE_W;
  item_tile p = find_item_tile(there ? id : 0);

  float sum[CHANNELS * RESULTS];
#pragma unroll
  for (int i = 0; i < CHANNELS * RESULTS; i++) sum[i] = 0.0f;
  for (int c0 = 0; c0 < sources; c0 += SOURCES) {
    if (c0 > 0) barrier(CLK_LOCAL_MEM_FENCE);
    stage_weights(args, weights, k0, c0, staged);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = 0; c < min(SOURCES, sources - c0); c++) {
      add_channel(source + (p.outer * args.a_pitch + (c0 + c) * volume),
                  staged + c * TAPS * WEIGHTS_PER_TAP, p, sum);
    }
  }
#pragma unroll
  for (int k = 0; k < CHANNELS; k++) {
    if (there && k0 + k < results)
      store_tile(args, bias, out, p.outer, k0 + k, p, sum + k * RESULTS);
  }
}
