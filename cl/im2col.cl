/* Columns for a matrix product: im2col, its transpose col2im, and the epilogue as a pass of its
 * own. col2im gathers: each input element collects what belongs to it, so there are no atomics.
 * Columns are [image of the piece][c][t][r][s][oz][oh][ow]. */
#ifndef WG
#error "WG is missing: items per work-group"
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void im2col(
    conv_args args, global const float *restrict x, global const float *restrict b,
    global const float *restrict bias, global float *restrict columns) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  x += begin_of(args.a_at, args.a_rest);
  columns += begin_of(args.out_at, args.out_rest);

  position o = position_of_output(args, id);
  conv_int tap = o.map, s = tap % args.s, r = tap / args.s % args.r;
  conv_int t = tap / args.s / args.r % args.t, map = tap / args.s / args.r / args.t;
  conv_int c = map % args.c, n = args.first + map / args.c;
  conv_int iz = o.z * args.sz - args.pz + t * args.dz;
  conv_int ih = o.h * args.sh - args.ph + r * args.dh;
  conv_int iw = o.w * args.sw - args.pw + s * args.dw;

  float v = 0.0f;
  if (iz >= 0 && iz < args.iz && ih >= 0 && ih < args.ih && iw >= 0 && iw < args.iw)
    v = x[n * args.a_pitch + ((c * args.iz + iz) * args.ih + ih) * args.iw + iw];
  columns[id] = v;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void col2im(
    conv_args args, global const float *restrict columns, global const float *restrict b,
    global const float *restrict bias, global float *restrict dx) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  columns += begin_of(args.a_at, args.a_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  dx += begin_of(args.out_at, args.out_rest);

  position i = position_of_input(args, id);

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
        conv_int tap = ((i.map * args.t + t) * args.r + r) * args.s + s;
        sum += columns[((tap * args.oz + oz) * args.oh + oh) * args.ow + ow];
      }
    }
  }
  conv_int n = i.map / args.c, image = args.c * args.iz * args.ih * args.iw;
  conv_int to = args.first * args.out_pitch + place_in_images(id, n, image, args.out_pitch);
  store(args, bias, dx, to, i.map % args.c, sum);
}

/* out = activation(out + bias[channel]), with `rows` channels of `depth` elements each. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void epilogue_pass(
    conv_args args, global const float *restrict a, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);
  conv_int map = id / args.depth, n = map / args.rows;
  conv_int at = place_in_images(id, n, args.rows * args.depth, args.out_pitch);
  store(args, bias, out, at, map % args.rows, out[at]);
}
