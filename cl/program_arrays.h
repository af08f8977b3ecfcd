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

/* A vector of neighbouring elements, aligned to its size; LOAD_ONE takes one for all of them. */
#if PROGRAM_WIDTH == 4
#define LOAD_float(at) (*(global const float4 *)(at))
#define LOAD_int(at) convert_float4(*(global const int4 *)(at))
#define LOAD_uchar(at) convert_float4(*(global const uchar4 *)(at))
#define STORE(at, value) (*(global float4 *)(at) = (value))
#else
#define LOAD_float(at) (*(at))
#define LOAD_int(at) convert_float(*(at))
#define LOAD_uchar(at) convert_float(*(at))
#define STORE(at, value) (*(at) = (value))
#endif
#define LOAD_ONE(at) number(convert_float(*(at)))

/* Along an axis: of the element with this number in the index space, and of its neighbours. */
FUNCTION real axis_of(word number, word inner, word extent) {
#if PROGRAM_WIDTH == 4
  return convert_float4((number + (word4)(0, 1, 2, 3)) / inner % extent);
#else
  return convert_float(number / inner % extent);
#endif
}
