/* Convolutions with one input channel per group. Nothing is summed over channels, so all of it is
 * memory traffic. An item has one output element, and neighbours lie next to each other, so that
 * every tap is a coalesced load; with SPACE=2 taps, positions and channels are constants. */
#ifndef WG
#error "WG is missing: items per work-group, a power of two"
#endif
#ifndef CHUNK
#error "CHUNK is missing: taps that a work-group of depthwise_weights computes"
#endif

static conv_args compiled(conv_args args) {
  args = in_space(args);
#if SPACE == 2
  args.c = CHANNELS, args.k = MAPS;
#endif
  return args;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void depthwise_forward(
    conv_args given, global const float *restrict x, global const float *restrict w,
    global const float *restrict bias, global float *restrict y) {
  conv_args args = compiled(given);
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  if (id >= args.items) return;
  x += begin_of(args.a_at, args.a_rest);
  w += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  y += begin_of(args.out_at, args.out_rest);

  position o = position_of_output(args, id);
  int k = o.map % args.k, n = o.map / args.k;
  int c = k / (args.k / args.c), taps = args.t * args.r * args.s;
  int z0 = o.z * args.sz - args.pz, h0 = o.h * args.sh - args.ph;
  int w0 = o.w * args.sw - args.pw;
  x += n * args.a_pitch + c * args.iz * args.ih * args.iw;
  w += k * taps;

  float sum = 0.0f;
  for (int t = 0; t < args.t; t++) {
    int z = z0 + t * args.dz;
    for (int r = 0; r < args.r; r++) {
      int h = h0 + r * args.dh;
      int inside = within(z, args.iz) & within(h, args.ih);
      for (int s = 0; s < args.s; s++) {
        int at = w0 + s * args.dw;
        if (inside & within(at, args.iw)) {
          sum = MULTIPLY_ADD(x[(z * args.ih + h) * args.iw + at], w[(t * args.r + r) * args.s + s],
                             sum);
        }
      }
    }
  }
  int image = args.k * args.oz * args.oh * args.ow;
  store(args, bias, y, place_in_images(id, n, image, args.out_pitch), k, sum);
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void depthwise_data(
    conv_args given, global const float *restrict dy, global const float *restrict w,
    global const float *restrict bias, global float *restrict dx) {
  conv_args args = compiled(given);
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  if (id >= args.items) return;
  dy += begin_of(args.a_at, args.a_rest);
  w += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  dx += begin_of(args.out_at, args.out_rest);

  position i = position_of_input(args, id);
  int c = i.map % args.c, n = i.map / args.c;
  int each = args.k / args.c, volume = args.oz * args.oh * args.ow;
  int taps = args.t * args.r * args.s;
  dy += n * args.a_pitch + c * each * volume;
  w += c * each * taps;

  float sum = 0.0f;
  for (int t = 0; t < args.t; t++) {
    int z = target(i.z, t, args.pz, args.dz, args.sz, args.oz);
    for (int r = 0; r < args.r; r++) {
      int h = target(i.h, r, args.ph, args.dh, args.sh, args.oh);
      for (int s = 0; s < args.s; s++) {
        int at = target(i.w, s, args.pw, args.dw, args.sw, args.ow);
        if ((z >= 0) & (h >= 0) & (at >= 0)) {
          int from = (z * args.oh + h) * args.ow + at, tap = (t * args.r + r) * args.s + s;
          for (int k = 0; k < each; k++)
            sum = MULTIPLY_ADD(dy[k * volume + from], w[k * taps + tap], sum);
        }
      }
    }
  }
  int image = args.c * args.iz * args.ih * args.iw;
  store(args, bias, dx, place_in_images(id, n, image, args.out_pitch), c, sum);
}

/* A work-group computes CHUNK taps of one output channel over one slice of the output positions of
 * all images. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void depthwise_weights(
    conv_args given, global const float *restrict x, global const float *restrict dy,
    global const float *restrict bias, global float *restrict out) {
  local float part[CHUNK * WG];
  conv_args args = compiled(given);
  int item = (int)get_local_id(0), taps = args.t * args.r * args.s;
  int group = args.first_group + (int)get_group_id(0);
  int chunks = (taps + CHUNK - 1) / CHUNK, chunk = group % chunks;
  int k = group / chunks % args.k;
  int slice = group / chunks / args.k;
  int c = k / (args.k / args.c);
  int in_volume = args.iz * args.ih * args.iw, volume = args.oz * args.oh * args.ow;
  x += begin_of(args.a_at, args.a_rest);
  dy += begin_of(args.b_at, args.b_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  float sum[CHUNK];
#pragma unroll
  for (int i = 0; i < CHUNK; i++) sum[i] = 0.0f;
  int first = slice * args.slice_length, end = min(args.n * volume, first + args.slice_length);
  for (int term = first + item; term < end; term += WG) {
    int n = term / volume, o = term % volume;
    int z0 = o / args.ow / args.oh * args.sz - args.pz;
    int h0 = o / args.ow % args.oh * args.sh - args.ph, w0 = o % args.ow * args.sw - args.pw;
    int from = n * args.a_pitch + c * in_volume;
    float v = dy[n * args.b_pitch + k * volume + o];
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
      int tap = chunk * CHUNK + i;
      int z = z0 + tap / args.s / args.r * args.dz, h = h0 + tap / args.s % args.r * args.dh;
      int w = w0 + tap % args.s * args.dw;
      int inside = (tap < taps) & within(z, args.iz) & within(h, args.ih) & within(w, args.iw);
      float u = inside ? x[from + (z * args.ih + h) * args.iw + w] : 0.0f;
      sum[i] = MULTIPLY_ADD(u, inside ? v : 0.0f, sum[i]);
    }
  }

#pragma unroll
  for (int i = 0; i < CHUNK; i++) part[i * WG + item] = sum[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_way = WG / 2; half_way > 0; half_way /= 2) {
    if (item < half_way)
      for (int i = 0; i < CHUNK; i++) part[i * WG + item] += part[i * WG + item + half_way];

    barrier(CLK_LOCAL_MEM_FENCE);
  }
  int weights = args.k * taps;
  for (int i = item; i < CHUNK; i += WG) {
    int tap = chunk * CHUNK + i;
    if (tap < taps) store(args, bias, out, slice * weights + k * taps + tap, 0, part[i * WG]);
  }
}
