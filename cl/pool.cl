/* Maxima and means of windows, and their gradients: an item makes one element by gathering, so that
 * each sum has one order. Of args the padding at the end is in rows, depth and columns. */
#ifndef WG
#error "WG is missing: items per work-group"
#endif
#ifndef COUNT_PADDING
#error "COUNT_PADDING is missing: 1 = a mean's divisor counts what a window has in the padding"
#endif
#if !defined(TAPS_Z) || !defined(TAPS_H) || !defined(TAPS_W)
#error "TAPS_Z, TAPS_H or TAPS_W is missing: elements of a window along an axis"
#endif
#if !defined(STRIDE_Z) || !defined(STRIDE_H) || !defined(STRIDE_W)
#error "STRIDE_Z, STRIDE_H or STRIDE_W is missing"
#endif
#if !defined(DILATION_Z) || !defined(DILATION_H) || !defined(DILATION_W)
#error "DILATION_Z, DILATION_H or DILATION_W is missing"
#endif

/* Where map `map` of all images begins, if maps have `volume` elements and images are `pitch`
 * apart. */
static conv_int map_at(conv_args args, conv_int map, conv_int volume, conv_int pitch) {
  return place_in_images(map * volume, map / args.c, args.c * volume, pitch);
}

/* Where element `id` of y or dx lies, which is in map `map`. */
static conv_int result_at(conv_args args, conv_int id, conv_int map, conv_int volume) {
  return place_in_images(id, map / args.c, args.c * volume, args.out_pitch);
}

static void store_gradient(conv_args args, global float *to, float sum) {
  *to = args.accumulate ? *to + sum : sum;
}

/* The order of floats as whole numbers, whatever the device makes of denormal numbers: as
 * cvy_pooling_key of src/problem/pooling/pooling.h. */
static int key_of(int bits) {
  int magnitude = bits & INT_MAX;
  if (magnitude > 0x7f800000) return INT_MAX;
  return bits < 0 ? -magnitude : magnitude;
}

/* The maximum of a window: its bits, and its tap, -1 where there is nothing of the map. */
typedef struct maximum {
  int bits, tap;
} maximum;

static maximum find_maximum(conv_args args, position o, global const int *map) {
  maximum best = {as_int(-INFINITY), -1};
  int before = INT_MIN;
  for (int t = 0; t < TAPS_Z; t++) {
    conv_int z = o.z * STRIDE_Z - args.pz + (conv_int)t * DILATION_Z;
    if (z < 0 || z >= args.iz) continue;
    for (int r = 0; r < TAPS_H; r++) {
      conv_int h = o.h * STRIDE_H - args.ph + (conv_int)r * DILATION_H;
      if (h < 0 || h >= args.ih) continue;
      for (int s = 0; s < TAPS_W; s++) {
        conv_int w = o.w * STRIDE_W - args.pw + (conv_int)s * DILATION_W;
        if (w < 0 || w >= args.iw) continue;
        int bits = map[(z * args.ih + h) * args.iw + w], key = key_of(bits);
        if (key > before || key == INT_MAX) {
          before = key;
          best = (maximum){bits, (t * TAPS_H + r) * TAPS_W + s};
        }
      }
    }
  }
  return best;
}

/* Bits are moved, not floats: denormal numbers stay. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void max_pool(
    conv_args args, global const float *restrict x, global const float *restrict b,
    global const float *restrict bias, global float *restrict y) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  position o = position_of_output(args, id);
  x += begin_of(args.a_at, args.a_rest);
  y += begin_of(args.out_at, args.out_rest);
  x += map_at(args, o.map, args.iz * args.ih * args.iw, args.a_pitch);
  conv_int to = result_at(args, id, o.map, args.oz * args.oh * args.ow);
  ((global int *)y)[to] = find_maximum(args, o, (global const int *)x).bits;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void max_pool_places(
    conv_args args, global const float *restrict x, global const float *restrict b,
    global const float *restrict bias, global float *restrict places) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  position o = position_of_output(args, id);
  x += begin_of(args.a_at, args.a_rest);
  places += begin_of(args.out_at, args.out_rest);
  x += map_at(args, o.map, args.iz * args.ih * args.iw, args.a_pitch);
  ((global int *)places)[id] = find_maximum(args, o, (global const int *)x).tap;
}

/* How many windows reach a position of an axis at most: the last that does, and those before. */
#define WINDOWS(taps, stride, dilation) (((taps)-1) * (dilation) / (stride) + 1)
/* Positions along w that the same windows reach have one item, as far as they are few. */
#define CELL (STRIDE_W <= 4 ? STRIDE_W : 1)

/* The tap of window `o` that meets a position, which counts from the padding's begin; or -1. */
static int tap_at(conv_int at, conv_int o, int taps, int stride, int dilation) {
  conv_int behind = at - o * stride;
  return behind % dilation == 0 && behind / dilation < taps ? (int)(behind / dilation) : -1;
}

/* What the windows of a row, whose first tap there has number `first`, give to a cell. */
static void add_row(conv_args args, conv_int at, int first, global const int *places,
                    global const float *dy, float *sum) {
  conv_int last = at / STRIDE_W;
#pragma unroll
  for (int m = WINDOWS(TAPS_W, STRIDE_W, DILATION_W) - 1; m >= 0; m--) {
    conv_int o = last - m;
    if (o < 0 || o >= args.ow) continue;
    int tap = places[o] - first;
    float value = dy[o];
    conv_int meets = o * STRIDE_W + tap * DILATION_W - at;
#pragma unroll
    for (int j = 0; j < CELL; j++)
      if (tap >= 0 && tap < TAPS_W && meets == j) sum[j] += value;
  }
}

/* Windows are gone through in their order. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void max_pool_backward(
    conv_args args, global const float *restrict dy, global const float *restrict all_places,
    global const float *restrict bias, global float *restrict dx) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  position i = position_in(id, args.iz, args.ih, args.items_per_row);
  conv_int volume = args.oz * args.oh * args.ow;
  conv_int z = i.z + args.pz, h = i.h + args.ph, w = (i.w + args.pw / CELL) * CELL;
  all_places += begin_of(args.b_at, args.b_rest);
  dy += begin_of(args.a_at, args.a_rest);
  dx += begin_of(args.out_at, args.out_rest);
  global const int *places = (global const int *)(all_places + i.map * volume);
  dy += map_at(args, i.map, volume, args.a_pitch);
  float sum[CELL];
#pragma unroll
  for (int j = 0; j < CELL; j++) sum[j] = 0.0f;
  for (int m = WINDOWS(TAPS_Z, STRIDE_Z, DILATION_Z) - 1; m >= 0; m--) {
    conv_int oz = z / STRIDE_Z - m;
    int t = tap_at(z, oz, TAPS_Z, STRIDE_Z, DILATION_Z);
    if (t < 0 || oz < 0 || oz >= args.oz) continue;
    for (int k = WINDOWS(TAPS_H, STRIDE_H, DILATION_H) - 1; k >= 0; k--) {
      conv_int oh = h / STRIDE_H - k, row = (oz * args.oh + oh) * args.ow;
      int r = tap_at(h, oh, TAPS_H, STRIDE_H, DILATION_H);
      if (r < 0 || oh < 0 || oh >= args.oh) continue;
      add_row(args, w, (t * TAPS_H + r) * TAPS_W, places + row, dy + row, sum);
    }
  }
  dx += map_at(args, i.map, args.iz * args.ih * args.iw, args.out_pitch);
  dx += (i.z * args.ih + i.h) * args.iw;
#pragma unroll
  for (int j = 0; j < CELL; j++) {
    conv_int to = w + j - args.pw;
    if (to >= 0 && to < args.iw) store_gradient(args, dx + to, sum[j]);
  }
}

/* What a mean of window `o` of an axis counts along it. */
static conv_int counted(conv_int o, conv_int stride, conv_int pad, conv_int taps, conv_int extent,
                        conv_int pad_end) {
  conv_int begin = o * stride - pad, end = min(begin + taps, extent + COUNT_PADDING * pad_end);
  return end - (COUNT_PADDING ? begin : max(begin, (conv_int)0));
}

static float divisor(conv_args args, conv_int oz, conv_int oh, conv_int ow) {
  return (float)counted(oz, STRIDE_Z, args.pz, TAPS_Z, args.iz, args.rows) *
         (float)counted(oh, STRIDE_H, args.ph, TAPS_H, args.ih, args.depth) *
         (float)counted(ow, STRIDE_W, args.pw, TAPS_W, args.iw, args.columns);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void average_pool(
    conv_args args, global const float *restrict x, global const float *restrict b,
    global const float *restrict bias, global float *restrict y) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  position o = position_of_output(args, id);
  x += begin_of(args.a_at, args.a_rest);
  y += begin_of(args.out_at, args.out_rest);
  x += map_at(args, o.map, args.iz * args.ih * args.iw, args.a_pitch);
  float sum = 0.0f;
  for (int t = 0; t < TAPS_Z; t++) {
    conv_int z = o.z * STRIDE_Z - args.pz + t;
    if (z < 0 || z >= args.iz) continue;
    for (int r = 0; r < TAPS_H; r++) {
      conv_int h = o.h * STRIDE_H - args.ph + r;
      if (h < 0 || h >= args.ih) continue;
      for (int s = 0; s < TAPS_W; s++) {
        conv_int w = o.w * STRIDE_W - args.pw + s;
        if (w >= 0 && w < args.iw) sum += x[(z * args.ih + h) * args.iw + w];
      }
    }
  }
  conv_int to = result_at(args, id, o.map, args.oz * args.oh * args.ow);
  y[to] = sum / divisor(args, o.z, o.h, o.w);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void average_pool_backward(
    conv_args args, global const float *restrict dy, global const float *restrict b,
    global const float *restrict bias, global float *restrict dx) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  position i = position_of_input(args, id);
  dy += begin_of(args.a_at, args.a_rest);
  dx += begin_of(args.out_at, args.out_rest);
  dy += map_at(args, i.map, args.oz * args.oh * args.ow, args.a_pitch);
  float sum = 0.0f;
  for (int t = TAPS_Z - 1; t >= 0; t--) {
    conv_int oz = target(i.z, t, args.pz, 1, STRIDE_Z, args.oz);
    if (oz < 0) continue;
    for (int r = TAPS_H - 1; r >= 0; r--) {
      conv_int oh = target(i.h, r, args.ph, 1, STRIDE_H, args.oh);
      if (oh < 0) continue;
      for (int s = TAPS_W - 1; s >= 0; s--) {
        conv_int ow = target(i.w, s, args.pw, 1, STRIDE_W, args.ow);
        if (ow < 0) continue;
        sum += dy[(oz * args.oh + oh) * args.ow + ow] / divisor(args, oz, oh, ow);
      }
    }
  }
  store_gradient(args, dx + result_at(args, id, i.map, args.iz * args.ih * args.iw), sum);
}
