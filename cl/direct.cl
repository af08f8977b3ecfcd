/* Convolution by its definition, which takes every legal problem. An output element takes one item,
 * or one work-group where the sum is long (weights, bias). */
#ifndef WG
#error "WG is missing: items per work-group, a power of two"
#endif
#if WG < 2 || (WG & (WG - 1)) != 0
#error "WG must be a power of two above 1"
#endif

/* The taps [first, end) of one axis whose position at + tap * dilation lies inside [0, extent). */
static conv_int first_tap(conv_int at, conv_int dilation) {
  return at >= 0 ? 0 : (dilation - 1 - at) / dilation;
}
static conv_int end_tap(conv_int at, conv_int extent, conv_int dilation, conv_int taps) {
  if (at >= extent) return 0;
  return min(taps, (extent - at - 1) / dilation + 1);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void direct_forward(
    conv_args args, global const float *restrict x, global const float *restrict w,
    global const float *restrict bias, global float *restrict y) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  x += begin_of(args.a_at, args.a_rest);
  w += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  y += begin_of(args.out_at, args.out_rest);

  position o = position_of_output(args, id);
  conv_int k = o.map % args.k, n = o.map / args.k;
  conv_int depth = args.c / args.groups;
  conv_int c0 = k / (args.k / args.groups) * depth;

  conv_int z0 = o.z * args.sz - args.pz, h0 = o.h * args.sh - args.ph;
  conv_int w0 = o.w * args.sw - args.pw;
  conv_int t0 = first_tap(z0, args.dz), t1 = end_tap(z0, args.iz, args.dz, args.t);
  conv_int r0 = first_tap(h0, args.dh), r1 = end_tap(h0, args.ih, args.dh, args.r);
  conv_int s0 = first_tap(w0, args.dw), s1 = end_tap(w0, args.iw, args.dw, args.s);

  float sum = 0.0f;
  for (conv_int c = 0; c < depth; c++) {
    for (conv_int t = t0; t < t1; t++) {
      for (conv_int r = r0; r < r1; r++) {
        conv_int row = ((c0 + c) * args.iz + z0 + t * args.dz) * args.ih + h0 + r * args.dh;
        global const float *from = x + (n * args.a_pitch + row * args.iw + w0);
        global const float *tap = w + (((k * depth + c) * args.t + t) * args.r + r) * args.s;
        for (conv_int s = s0; s < s1; s++) sum += from[s * args.dw] * tap[s];
      }
    }
  }
  conv_int image = args.k * args.oz * args.oh * args.ow;
  store(args, bias, y, place_in_images(id, n, image, args.out_pitch), k, sum);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void direct_backward_data(
    conv_args args, global const float *restrict dy, global const float *restrict w,
    global const float *restrict bias, global float *restrict dx) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  dy += begin_of(args.a_at, args.a_rest);
  w += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  dx += begin_of(args.out_at, args.out_rest);

  position i = position_of_input(args, id);
  conv_int c = i.map % args.c, n = i.map / args.c;
  conv_int width = args.c / args.groups, depth = args.k / args.groups;
  conv_int k0 = c / width * depth;
  conv_int taps = args.t * args.r * args.s, volume = args.oz * args.oh * args.ow;

  float sum = 0.0f;
  for (conv_int t = 0; t < args.t; t++) {
    conv_int oz = target(i.z, t, args.pz, args.dz, args.sz, args.oz);
    if (oz < 0) continue;
    for (conv_int r = 0; r < args.r; r++) {
      conv_int oh = target(i.h, r, args.ph, args.dh, args.sh, args.oh);
      if (oh < 0) continue;
      for (conv_int s = 0; s < args.s; s++) {
        conv_int ow = target(i.w, s, args.pw, args.dw, args.sw, args.ow);
        if (ow < 0) continue;
        conv_int from = n * args.a_pitch + k0 * volume + (oz * args.oh + oh) * args.ow + ow;
        conv_int tap = (k0 * width + c % width) * taps + (t * args.r + r) * args.s + s;
        for (conv_int k = 0; k < depth; k++, from += volume, tap += width * taps)
          sum += dy[from] * w[tap];
      }
    }
  }
  conv_int image = args.c * args.iz * args.ih * args.iw;
  store(args, bias, dx, place_in_images(id, n, image, args.out_pitch), c, sum);
}

/* The sum over the work-group in a fixed order; the result is valid in item 0. */
static float group_sum(local float *part, int item, float value) {
  part[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = WG / 2; half_way > 0; half_way /= 2) {
    if (item < half_way) part[item] += part[item + half_way];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return part[0];
}

/* A work-group computes one weight. `items_per_row` of its items share a row of outputs, so that
 * there are WG / items_per_row rows at a time; each row's part inside the input is found once. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void direct_backward_weights(
    conv_args args, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict dw) {
  local float part[WG];
  conv_int id = args.first_group + (conv_int)get_group_id(0);
  int item = (int)get_local_id(0);
  x += begin_of(args.a_at, args.a_rest);
  dy += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  dw += begin_of(args.out_at, args.out_rest);

  conv_int s = id % args.s, r = id / args.s % args.r, t = id / (args.s * args.r) % args.t;
  conv_int depth = args.c / args.groups, map = id / (args.s * args.r * args.t);
  conv_int k = map / depth, c = k / (args.k / args.groups) * depth + map % depth;
  conv_int z0 = t * args.dz - args.pz, h0 = r * args.dh - args.ph;
  conv_int w0 = s * args.dw - args.pw;

  conv_int together = args.items_per_row;
  conv_int first = first_tap(w0, args.sw), end = end_tap(w0, args.iw, args.sw, args.ow);

  float sum = 0.0f;
  for (conv_int row = item / together; row < args.n * args.oz * args.oh; row += WG / together) {
    conv_int oh = row % args.oh, plane = row / args.oh;
    conv_int oz = plane % args.oz, n = plane / args.oz;
    conv_int iz = oz * args.sz + z0, ih = oh * args.sh + h0;
    if (iz < 0 || iz >= args.iz || ih < 0 || ih >= args.ih) continue;
    global const float *from =
        x + (n * args.a_pitch + ((c * args.iz + iz) * args.ih + ih) * args.iw + w0);
    global const float *to =
        dy + (n * args.b_pitch + ((k * args.oz + oz) * args.oh + oh) * args.ow);
    for (conv_int ow = first + item % together; ow < end; ow += together)
      sum += from[ow * args.sw] * to[ow];
  }
  sum = group_sum(part, item, sum);
  if (item == 0) store(args, bias, dw, id, 0, sum);
}

/* A work-group computes the sum of one channel. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void direct_backward_bias(
    conv_args args, global const float *restrict dy, global const float *restrict unused,
    global const float *restrict bias, global float *restrict db) {
  local float part[WG];
  conv_int k = args.first_group + (conv_int)get_group_id(0);
  int item = (int)get_local_id(0);
  conv_int volume = args.oz * args.oh * args.ow;
  dy += begin_of(args.a_at, args.a_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  db += begin_of(args.out_at, args.out_rest);

  float sum = 0.0f;
  for (conv_int n = 0; n < args.n; n++) {
    conv_int map = n * args.a_pitch + k * volume;
    for (conv_int o = item; o < volume; o += WG) sum += dy[map + o];
  }
  sum = group_sum(part, item, sum);
  if (item == 0) store(args, bias, db, k, 0, sum);
}
