/* What happens to a finished sum on its way to memory: it is added to what is there, or gets a bias
 * and an activation. A NaN stays a NaN: comparisons are written so that it takes the first branch.
 * Most sums are stored as they are, which is decided first. */

static float activate(conv_args args, float v) {
  if (args.activation == 1) return v < 0.0f ? 0.0f : v;
  if (args.activation == 2) return v > 0.0f ? v : v * as_float((int)args.slope);
  return v;
}

static int is_bare(conv_args args) {
  return !(args.accumulate | args.has_bias | args.activation);
}

static void store(conv_args args, global const float *bias, global float *out, conv_int at,
                  conv_int channel, float v) {
  if (is_bare(args)) {
    out[at] = v;
    return;
  }
  if (args.accumulate) {
    out[at] += v;
    return;
  }
  if (args.has_bias) v += bias[channel];
  out[at] = activate(args, v);
}

/* The same for four neighbours; `at` is a multiple of 4. */
static void store_four(conv_args args, global const float *bias, global float *out, conv_int at,
                       conv_int channel, float4 v) {
  global float4 *to = (global float4 *)(out + at);
  if (is_bare(args)) {
    *to = v;
    return;
  }
  if (args.accumulate) {
    *to += v;
    return;
  }
  if (args.has_bias) v += bias[channel];
  *to =
      (float4)(activate(args, v.x), activate(args, v.y), activate(args, v.z), activate(args, v.w));
}
