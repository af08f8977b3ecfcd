/* Matrix products, batched: a work-group makes a tile of one result, or of the sum of all products.
 * Of args it takes the batch as n, rows, columns and depth, the floats from row to row of a, b and
 * the result as iw, s and ow, and from matrix to matrix as pitches. Both sides are loaded as they
 * lie, neighbours by neighbouring items, into tiles of [term][row] and [term][column]; what is not
 * there counts as 0. Where results are few and sums long, slices of the terms leave a partial
 * result each, all of them one after the other. */
#if !defined(A_TRANSPOSED) || !defined(B_TRANSPOSED)
#error "A_TRANSPOSED or B_TRANSPOSED is missing: 1 = a lies as [depth][rows], b as [columns][depth]"
#endif
#ifndef SUMMED
#error "SUMMED is missing: 1 = the result is the sum of all products"
#endif

/* Rows of the tiles are apart by more than a power of two, and stay aligned for float4. */
#define A_PITCH (BM + 4)
#define B_PITCH (BN + 4)

/* BK terms from `term0` on of `width` rows or columns from `first` on. `by_term`: the matrix has a
 * row for each term, else one for each of them; `pitch` floats apart. */
static void load_tile(global const float *matrix, int by_term, conv_int pitch, conv_int first,
                      conv_int count, conv_int term0, conv_int terms, int width, int item,
                      local float *tile) {
  for (int e = item; e < BK * width; e += ITEMS) {
    int place = by_term ? e % width : e / BK, term = by_term ? e / width : e % BK;
    int there = first + place < count && term0 + term < terms;
    conv_int at =
        by_term ? (term0 + term) * pitch + first + place : (first + place) * pitch + term0 + term;
    float value = LOADED(float, there, matrix, at);
    tile[term * (width + 4) + place] = KEPT(float, there, value);
  }
}

static void store_tile(conv_args args, conv_int row0, conv_int column0, int item, const float4 *sum,
                       global float *out) {
#pragma unroll
  for (int i = 0; i < TM; i++) {
    conv_int row = row0 + tile_row(item, i);
#pragma unroll
    for (int j = 0; j < FRAGMENTS; j++) {
#pragma unroll
      for (int component = 0; component < 4; component++) {
        conv_int column = column0 + tile_column(item, j) + component;
        if (row < args.rows && column < args.columns) {
          conv_int at = row * args.ow + column;
          float value = component_of(sum[i * FRAGMENTS + j], component);
          out[at] = args.accumulate ? out[at] + value : value;
        }
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void matmul(
    conv_args args, global const float *restrict a, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  local float a_tile[BK * A_PITCH] __attribute__((aligned(16)));
  local float b_tile[BK * B_PITCH] __attribute__((aligned(16)));
  int item = (int)get_local_id(0);
  group_tile tile = find_group_tile(args, BM, BN);
  float4 sum[TM * FRAGMENTS];
#pragma unroll
  for (int i = 0; i < TM * FRAGMENTS; i++) sum[i] = (float4)(0.0f);
  conv_int matrix = tile.rest / args.slices, slice = tile.rest % args.slices;
  conv_int begin = slice * args.slice_length, end = min(begin + args.slice_length, args.depth);
  a += begin_of(args.a_at, args.a_rest) + matrix * args.a_pitch;
  b += begin_of(args.b_at, args.b_rest) + matrix * args.b_pitch;
  out += begin_of(args.out_at, args.out_rest) + matrix * args.out_pitch + slice * args.items;

  for (conv_int product = 0; product < (SUMMED ? args.n : 1); product++) {
    for (conv_int term0 = begin; term0 < end; term0 += BK) {
      load_tile(a, A_TRANSPOSED, args.iw, tile.row0, args.rows, term0, end, BM, item, a_tile);
      load_tile(b, !B_TRANSPOSED, args.s, tile.column0, args.columns, term0, end, BN, item, b_tile);
      barrier(CLK_LOCAL_MEM_FENCE);
      tile_multiply(a_tile, A_PITCH, b_tile, B_PITCH, item, sum);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    a += args.a_pitch;
    b += args.b_pitch;
  }
  store_tile(args, tile.row0, tile.column0, item, sum, out);
}
