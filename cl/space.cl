/* The extents of space, either read from the argument block or, with SPACE=2, compiled in: index
 * arithmetic then folds into constants. Batch, channels and groups stay run-time arguments, so that
 * layers of equal geometry share a program. */
#ifndef SPACE
#error "SPACE is missing: 1 = run-time arguments, 2 = compiled in"
#endif

#if SPACE == 2
static conv_args in_space(conv_args args) {
  args.iz = IN_0, args.ih = IN_1, args.iw = IN_2;
  args.t = FILTER_0, args.r = FILTER_1, args.s = FILTER_2;
  args.oz = OUT_0, args.oh = OUT_1, args.ow = OUT_2;
  args.sz = STRIDE_0, args.sh = STRIDE_1, args.sw = STRIDE_2;
  args.pz = PAD_0, args.ph = PAD_1, args.pw = PAD_2;
  args.dz = DILATION_0, args.dh = DILATION_1, args.dw = DILATION_2;
  return args;
}
#define TAPS (FILTER_0 * FILTER_1 * FILTER_2)
#define UNIT_STRIDE (STRIDE_0 == 1 && STRIDE_1 == 1 && STRIDE_2 == 1)
/* 1x1 without stride and padding: x and y have the same positions. */
#define PLAIN                                                                                   \
  (TAPS == 1 && UNIT_STRIDE && IN_0 == OUT_0 && IN_1 == OUT_1 && IN_2 == OUT_2 && PAD_0 == 0 && \
   PAD_1 == 0 && PAD_2 == 0)
#if !defined(IN_ALIGNED) || !defined(OUT_ALIGNED)
#error \
    "IN_ALIGNED or OUT_ALIGNED is missing: 1 = the array and its images begin at multiples of four"
#endif
/* Whole float4 never straddle two images or channels. */
#define FOURS_IN (IN_ALIGNED && IN_0 * IN_1 * IN_2 % 4 == 0)
#define FOURS_OUT (OUT_ALIGNED && OUT_0 * OUT_1 * OUT_2 % 4 == 0)
/* The arrays that forward and backward_data read and write. */
#if defined(DIRECTION) && DIRECTION == 1
#define SOURCE_Z OUT_0
#define SOURCE_H OUT_1
#define SOURCE_W OUT_2
#define RESULT_Z IN_0
#define RESULT_H IN_1
#define RESULT_W IN_2
#else
#define SOURCE_Z IN_0
#define SOURCE_H IN_1
#define SOURCE_W IN_2
#define RESULT_Z OUT_0
#define RESULT_H OUT_1
#define RESULT_W OUT_2
#endif
#else
static conv_args in_space(conv_args args) {
  return args;
}
#define TAPS 0
#define UNIT_STRIDE 0
#define PLAIN 0
#define FOURS_IN 0
#define FOURS_OUT 0
#endif

/* Whether 0 <= at < extent. */
static int within(int at, int extent) {
  return (uint)at < (uint)extent;
}
