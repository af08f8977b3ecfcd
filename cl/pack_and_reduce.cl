/* What comes before and after a tiled product: packing the weights, and adding the slices of a
 * sum. */
#ifndef WG
#error "WG is missing: items per work-group, a power of two"
#endif
#ifndef DIRECTION
#error "DIRECTION is missing: 1 = weights are packed for backward_data, 0 = for forward"
#endif

/* Where term and tap of a row have their elements of the packed weights:
 * [group][block][tap][channel of the block][rows_up], where a block has `block_channels` channels.
 */
static int line_of(conv_args args, int group, int term, int tap, int taps) {
  int blocks = args.depth_up / args.block_channels;
  int block = group * blocks + term / args.block_channels;
  return (block * taps + tap) * args.block_channels + term % args.block_channels;
}

/* Rows of weights lie as [term][tap], and are wanted side by side. A work-group turns a square of
 * them, so that neighbouring items read neighbours, and write neighbours too. */
#define SQUARE 32

#if DIRECTION == 0
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void pack_weights(
    conv_args args, global const float *restrict w, global const float *restrict b,
    global const float *restrict bias, global float *restrict packed) {
  local float square[SQUARE][SQUARE + 1];
  int taps = args.t * args.r * args.s, place = args.first_group + (int)get_group_id(0);
  int across = args.row_tiles, along = args.column_tiles, item = (int)get_local_id(0);
  int row0 = place % across * SQUARE, first0 = place / across % along * SQUARE;
  int group = place / across / along;
  w += begin_of(args.a_at, args.a_rest) + group * args.rows * args.depth * taps;
  packed += begin_of(args.out_at, args.out_rest);
  for (int e = item; e < SQUARE * SQUARE; e += WG) {
    int row = row0 + e / SQUARE, first = first0 + e % SQUARE;
    int there = row < args.rows && first < args.depth * taps;
    square[e / SQUARE][e % SQUARE] = there ? w[row * args.depth * taps + first] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int e = item; e < SQUARE * SQUARE / 4; e += WG) {
    int across_by = e % (SQUARE / 4) * 4, along_by = e / (SQUARE / 4);
    int row = row0 + across_by, first = first0 + along_by;
    if (row < args.rows_up && first < args.depth_up * taps) {
      int line = line_of(args, group, first / taps, first % taps, taps);
      *(global float4 *)(packed + line * args.rows_up + row) =
          (float4)(square[across_by][along_by], square[across_by + 1][along_by],
                   square[across_by + 2][along_by], square[across_by + 3][along_by]);
    }
  }
}
#else
/* An item has four rows of the packed weights, of which there are whole fours. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void pack_weights(
    conv_args args, global const float *restrict w, global const float *restrict b,
    global const float *restrict bias, global float *restrict packed) {
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  if (id >= args.items) return;
  w += begin_of(args.a_at, args.a_rest);
  packed += begin_of(args.out_at, args.out_rest);

  int taps = args.t * args.r * args.s, fours = args.rows_up / 4;
  int row = id % fours * 4, place = id / fours;
  int tap = place % taps, term = place / taps % args.depth_up, group = place / taps / args.depth_up;
  float v[4];
  w += ((group * args.depth + term) * args.rows + row) * taps + tap;
#pragma unroll
  for (int i = 0; i < 4; i++) v[i] = row + i < args.rows && term < args.depth ? w[i * taps] : 0.0f;
  *(global float4 *)(packed + line_of(args, group, term, tap, taps) * args.rows_up + row) =
      (float4)(v[0], v[1], v[2], v[3]);
}
#endif

/* out = the sum over the slices, in an order that depends on the numbers of slices and of sharing
 * items only: `items_per_result` items of a work-group share an element, and each adds the partial
 * results that far apart. Elements are [images][rows channels][depth positions]. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void reduce_split_k(
    conv_args args, global const float *restrict partial, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  local float part[WG];
  int item = (int)get_local_id(0), together = args.items_per_result, width = WG / together;
  int id = (args.first_group + (int)get_group_id(0)) * width + item % width;
  partial += begin_of(args.a_at, args.a_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  float sum = 0.0f;
  if (id < args.items) {
#pragma unroll 4
    for (int slice = item / width; slice < args.slices; slice += together)
      sum += partial[slice * args.items + id];
  }
  part[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < width && id < args.items) {
    for (int other = 1; other < together; other++) sum += part[other * width + item];
    int map = id / args.depth, gap = args.out_pitch - args.rows * args.depth;
    store(args, bias, out, id + map / args.rows * gap, map % args.rows, sum);
  }
}
