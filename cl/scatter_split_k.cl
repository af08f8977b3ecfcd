/* backward_data of 1x1 filters with a stride, after its product: results belong where taps meet, at
 * multiples of the stride, and zeros between them. */
#ifndef WG
#error "WG is missing: items per work-group, a power of two"
#endif

/* Adds the slices of each sum in their order. An item writes a whole cell: the sum, and the zeros
 * up to the next one. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void scatter_split_k(
    conv_args given, global const float *restrict partial, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  conv_args args = in_space(given);
  int id = (args.first_group + (int)get_group_id(0)) * WG + (int)get_local_id(0);
  if (id >= args.items) return;
  partial += begin_of(args.a_at, args.a_rest);
  bias += begin_of(args.bias_at, args.bias_rest);
  out += begin_of(args.out_at, args.out_rest);

  float sum = 0.0f;
#pragma unroll 4
  for (int slice = 0; slice < args.slices; slice++) sum += partial[slice * args.items + id];

  position from = position_of_output(args, id);
  int z0 = from.z * args.sz, h0 = from.h * args.sh, w0 = from.w * args.sw;
  int z1 = min(z0 + args.sz, args.iz), h1 = min(h0 + args.sh, args.ih);
  int w1 = min(w0 + args.sw, args.iw), channel = from.map % args.c;
  out += from.map / args.c * args.out_pitch;
  for (int z = z0; z < z1; z++) {
    for (int h = h0; h < h1; h++) {
      int line = ((channel * args.iz + z) * args.ih + h) * args.iw;
      for (int w = w0; w < w1; w++) {
        int meets = z == z0 && h == h0 && w == w0;
        store(args, bias, out, line + w, channel, meets ? sum : 0.0f);
      }
    }
  }
}
