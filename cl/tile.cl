/* The tiled matrix product of forward and backward_data. A work-group computes BM rows by BN
 * columns, an item TM by TN of them as float4 fragments, in steps of BK terms. Tiles lie in local
 * memory as [term][row] and [term][column]. */
#if !defined(BM) || !defined(BN) || !defined(BK) || !defined(TM) || !defined(TN)
#error "a tile parameter is missing: BM, BN, BK, TM, TN"
#endif
#if TM % 4 != 0 || TN % 4 != 0
#error "TM and TN must be multiples of 4: fragments are float4"
#endif
#if BM % TM != 0 || BN % TN != 0
#error "TM must divide BM and TN must divide BN"
#endif

#define ROWS_OF_ITEMS (BM / TM)
#define COLUMNS_OF_ITEMS (BN / TN)
#define ITEMS (ROWS_OF_ITEMS * COLUMNS_OF_ITEMS)
#define FRAGMENTS (TN / 4)

/* Row i (0 .. TM-1) and first column of fragment j (0 .. FRAGMENTS-1) of an item inside the tile.
 * Neighbouring items own neighbouring float4, so there are no bank conflicts and stores are
 * coalesced. */
static int tile_row(int item, int i) {
  return (item / COLUMNS_OF_ITEMS + i / 4 * ROWS_OF_ITEMS) * 4 + i % 4;
}
static int tile_column(int item, int j) {
  return (item % COLUMNS_OF_ITEMS + j * COLUMNS_OF_ITEMS) * 4;
}

/* sum[i][j] += a[term][row i] * b[term][fragment j] over the BK terms of a step. */
static void tile_multiply(local const float *a, int a_pitch, local const float *b, int b_pitch,
                          int item, float4 *sum) {
  a += tile_row(item, 0);
  b += tile_column(item, 0);
#pragma unroll
  for (int term = 0; term < BK; term++) {
    float4 row[TM / 4], column[FRAGMENTS];
#pragma unroll
    for (int i = 0; i < TM / 4; i++)
      row[i] = *(local const float4 *)(a + term * a_pitch + i * ROWS_OF_ITEMS * 4);
#pragma unroll
    for (int j = 0; j < FRAGMENTS; j++)
      column[j] = *(local const float4 *)(b + term * b_pitch + j * COLUMNS_OF_ITEMS * 4);
#pragma unroll
    for (int i = 0; i < TM / 4; i++) {
#pragma unroll
      for (int j = 0; j < FRAGMENTS; j++) {
        int at = i * 4 * FRAGMENTS + j;
        sum[at] = MULTIPLY_ADD((float4)(row[i].x), column[j], sum[at]);
        sum[at + FRAGMENTS] = MULTIPLY_ADD((float4)(row[i].y), column[j], sum[at + FRAGMENTS]);
        sum[at + 2 * FRAGMENTS] =
            MULTIPLY_ADD((float4)(row[i].z), column[j], sum[at + 2 * FRAGMENTS]);
        sum[at + 3 * FRAGMENTS] =
            MULTIPLY_ADD((float4)(row[i].w), column[j], sum[at + 3 * FRAGMENTS]);
      }
    }
  }
}
