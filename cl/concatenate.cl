/* One input of a concatenation: its part of each image of y. Of args it takes the elements of its
 * images as columns, those of y's as rows, and where it begins in them as depth. Bits are moved,
 * not floats, so that all of them stay. */
#ifndef WG
#error "WG is missing: items per work-group"
#endif

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void concatenate(
    conv_args args, global const float *restrict x, global const float *restrict b,
    global const float *restrict bias, global float *restrict y) {
  conv_int id = (args.first_group + (conv_int)get_group_id(0)) * WG + (conv_int)get_local_id(0);
  if (id >= args.items) return;
  conv_int first = id * WIDTH, image = first / args.columns, at = first - image * args.columns;
  global const elements *from = (global const elements *)ELEMENTS_AT(x, args.a_at);
  *(global moved *)(y + (size_t)args.out_at * CONV_ALIGN + image * args.rows + args.depth + at) =
      BITS_OF(from[id]);
}
