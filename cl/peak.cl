/* What the device can do at best: multiply-adds from registers, and copying. */
#ifndef WG
#error "WG is missing: items per work-group"
#endif
#ifndef CHAINS
#error "CHAINS is missing: independent float4 accumulators per item"
#endif

/* Makes `items` rounds of CHAINS float4 multiply-adds. The factors come from memory and the sum
 * goes back there, so that nothing can be folded away. */
kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void peak_multiply_add(
    conv_args args, global const float *restrict a, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  size_t id = (args.first_group + get_group_id(0)) * WG + get_local_id(0);
  a += begin_of(args.a_at, args.a_rest);
  out += begin_of(args.out_at, args.out_rest);
  float4 factor = (float4)(a[0]), term = (float4)(a[1]);
  float4 sum[CHAINS];
#pragma unroll
  for (int i = 0; i < CHAINS; i++) sum[i] = (float4)((float)id + i, (float)id - i, i, 1.0f);
  for (int round = 0; round < args.items; round++) {
#pragma unroll
    for (int i = 0; i < CHAINS; i++) sum[i] = MULTIPLY_ADD(sum[i], factor, term);
  }
  float4 all = sum[0];
#pragma unroll
  for (int i = 1; i < CHAINS; i++) all += sum[i];
  out[id] = all.x + all.y + all.z + all.w;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void peak_copy(
    conv_args args, global const float *restrict a, global const float *restrict b,
    global const float *restrict bias, global float *restrict out) {
  size_t id = (args.first_group + get_group_id(0)) * WG + get_local_id(0);
  a += begin_of(args.a_at, args.a_rest);
  out += begin_of(args.out_at, args.out_rest);
  if (id < (size_t)args.items) vstore4(vload4(id, a), id, out);
}
