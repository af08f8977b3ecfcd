/* What the fused kernels share: where tiles of 2 x 2 lie, and their patches of 4 x 4 on the way
 * from memory to local memory. Arguments are as in winograd.cl. */
#if TILE != 2
#error "TILE must be 2"
#endif
#define POINTS (SIDE * SIDE)

/* Where a tile lies: its image, its plane and its first output. */
typedef struct tile_position {
  int there, image, z, h, w;
} tile_position;

static tile_position tile_position_of(conv_args args, int column) {
  int tiles_h = (args.oh + TILE - 1) / TILE, tiles_w = (args.ow + TILE - 1) / TILE;
  int plane = column / tiles_w / tiles_h;
  tile_position at;
  at.w = column % tiles_w * TILE;
  at.h = column / tiles_w % tiles_h * TILE;
  at.z = plane % args.oz;
  at.image = plane / args.oz;
  at.there = at.image < args.n;
  return at;
}

/* Which of the patch's values lie in the source, one bit each. */
static uint inside_of(conv_args args, tile_position at) {
  uint bits = 0;
#pragma unroll
  for (int i = 0; i < POINTS; i++) {
    int h = at.h - args.ph + i / SIDE, w = at.w - args.pw + i % SIDE;
    bits |= (uint)(at.there & ((uint)h < (uint)args.ih) & ((uint)w < (uint)args.iw)) << i;
  }
  return bits;
}

static void load_patch(global const float *from, int pitch, uint inside, float (*d)[SIDE]) {
#pragma unroll
  for (int i = 0; i < POINTS; i++)
    d[i / SIDE][i % SIDE] = inside >> i & 1u ? from[i / SIDE * pitch + i % SIDE] : 0.0f;
}

/* Stores points to local memory, where a point's tile is `pitch` behind the one before. */
static void keep_points(const float (*v)[SIDE], local float *to, int pitch) {
#pragma unroll
  for (int i = 0; i < POINTS; i++) to[i * pitch] = v[i / SIDE][i % SIDE];
}

/* Transforms the patch of a channel to points in local memory. */
static void transform_patch(const float (*d)[SIDE], local float *to, int pitch) {
  float v[SIDE][SIDE];
  points_of_patch(d, v);
  keep_points(v, to, pitch);
}

/* ----------------------------------------------------------------- products that change hands */

/* So many rows of the results change hands at a time. */
#define ROWS (ROWS_OF_ITEMS * 4)
/* Local memory is for the terms first, and then for the products. */
#define ROOM_FOR_TERMS (POINTS * (A_POINT + B_POINT))
#define ROOM_FOR_RESULTS (POINTS * ROWS * BN)
#define ROOM (ROOM_FOR_TERMS > ROOM_FOR_RESULTS ? ROOM_FOR_TERMS : ROOM_FOR_RESULTS)

/* Stores four rows of an item's products of one point. */
static void hand_over(const float4 *sum, int point, int item, local float *room) {
#pragma unroll
  for (int i = 0; i < 4 * FRAGMENTS; i++) {
    *(local float4 *)(room + (point * ROWS + tile_row(item, i / FRAGMENTS)) * BN +
                      tile_column(item, i % FRAGMENTS)) = sum[i];
  }
}

/* Loads all points of one result. */
static void take_products(local const float *products, float (*m)[SIDE]) {
#pragma unroll
  for (int i = 0; i < POINTS; i++) m[i / SIDE][i % SIDE] = products[i * ROWS * BN];
}
