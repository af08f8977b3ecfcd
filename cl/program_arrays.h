/* How kernels of programs over arrays read and write, behind program_words.h. WORD_BYTES is 4 or 8:
 * the size of the numbers of elements and of the places in memory. */

#if WORD_BYTES != 4 && WORD_BYTES != 8
#error "WORD_BYTES must be 4 or 8"
#endif

#if WORD_BYTES == 8
typedef ulong word;
typedef ulong4 word4;
#else
typedef uint word;
typedef uint4 word4;
#endif

/* A number divided by the extent of a loop, rounded down (src/ocl/nest_source.c says how). */
#if WORD_BYTES == 8
#define QUOTIENT(number, loop) ((number) / args.extent##loop)
#else
#define QUOTIENT(number, loop) quotient_of(number, args.inverse##loop, args.shift##loop)

FUNCTION word quotient_of(word number, word inverse, word shift) {
  word high = mul_hi(number, inverse);
  return (high + ((number - high) >> 1)) >> shift;
}
#endif

/* Neighbouring elements, each four aligned to their size. LOAD_ONE takes one for all of them. */
#define FOUR(type, at) (*(global const type##4 *)(at))
#if PROGRAM_WIDTH == 8
#define LOAD(type, at) convert_float8((type##8)(FOUR(type, at), FOUR(type, (at) + 4)))
#elif PROGRAM_WIDTH == 4
#define LOAD(type, at) convert_float4(FOUR(type, at))
#else
#define LOAD(type, at) convert_float(*(at))
#endif
#define LOAD_ONE(at) number(convert_float(*(at)))

FUNCTION void store(global float *at, real values) {
#if PROGRAM_WIDTH == 8
  *(global float4 *)at = values.lo;
  *(global float4 *)(at + 4) = values.hi;
#elif PROGRAM_WIDTH == 4
  *(global float4 *)at = values;
#else
  *at = values;
#endif
}

#if PROGRAM_WIDTH < 8 /* no program with index() or random() takes eight */
/* Along an axis: of the element with this number in the index space, and of its neighbours. */
FUNCTION real axis_of(word number, word inner, word extent) {
#if PROGRAM_WIDTH == 4
  return convert_float4((number + (word4)(0, 1, 2, 3)) / inner % extent);
#else
  return convert_float(number / inner % extent);
#endif
}
#endif
