/* What more than one kernel file needs. */

/* fma() only where it is an instruction; elsewhere it is a slow exact emulation. */
#ifdef FP_FAST_FMAF
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* Output position that tap `tap` maps input position `at` to, or -1 if there is none. */
static conv_int target(conv_int at, conv_int tap, conv_int pad, conv_int dilation, conv_int stride,
                       conv_int extent) {
  const conv_int scaled = at + pad - tap * dilation;
  if (scaled < 0) return -1;
  const conv_int o = scaled / stride;
  return o < extent && o * stride == scaled ? o : -1;
}
