/* What the fused kernels share: where tiles of 2 x 2 lie, and their patches of 4 x 4 on the way from memory
 * to local memory. Arguments as in winograd.cl. */
#if TILE != 2
#error "TILE must be 2"
#endif
#define POINTS (SIDE * SIDE)

/* A tile: its image, plane and first output. */
typedef struct spot {
  int there, image, z, h, w;
} spot;

static spot spot_of(const conv_args args, int column) {
  const int tiles_h = (args.oh + TILE - 1) / TILE, tiles_w = (args.ow + TILE - 1) / TILE;
  const int plane = column / tiles_w / tiles_h;
  spot at;
  at.w = column % tiles_w * TILE;
  at.h = column / tiles_w % tiles_h * TILE;
  at.z = plane % args.oz;
  at.image = plane / args.oz;
  at.there = at.image < args.n;
  return at;
}

/* Which of the patch's values lie in the source, one bit each. */
static uint inside_of(const conv_args args, spot at) {
  uint bits = 0;
#pragma unroll
  for (int i = 0; i < POINTS; i++) {
    const int h = at.h - args.ph + i / SIDE, w = at.w - args.pw + i % SIDE;
    bits |= (uint)(at.there & ((uint)h < (uint)args.ih) & ((uint)w < (uint)args.iw)) << i;
  }
  return bits;
}

static void load_patch(global const float *from, int pitch, uint inside, float (*d)[SIDE]) {
#pragma unroll
  for (int i = 0; i < POINTS; i++)
    d[i / SIDE][i % SIDE] = inside >> i & 1u ? from[i / SIDE * pitch + i % SIDE] : 0.0f;
}

/* Points -> local memory, where a point's tile is `pitch` behind the one before. */
static void keep_points(const float (*v)[SIDE], local float *to, int pitch) {
#pragma unroll
  for (int i = 0; i < POINTS; i++) to[i * pitch] = v[i / SIDE][i % SIDE];
}

/* The patch of a channel -> points in local memory. */
static void transform_patch(const float (*d)[SIDE], local float *to, int pitch) {
  float v[SIDE][SIDE];
  points_of_patch(d, v);
  keep_points(v, to, pitch);
}
