/* What kernels move: elements of an operand, as the bits of floats, so that all of them stay. */
#ifndef ELEMENT
#error "ELEMENT is missing: what x holds, int, also for floats, or uchar"
#endif
#ifndef CONVERTS
#error "CONVERTS is missing: 1 = x holds integers, which become floats"
#endif
#if WIDTH != 1 && WIDTH != 4
#error "WIDTH must be 1, or 4 where all that is moved is aligned neighbours"
#endif

#if WIDTH == 4
typedef int4 moved;
#define ELEMENTS_4(element) element##4
#define ELEMENTS(element) ELEMENTS_4(element)
typedef ELEMENTS(ELEMENT) elements;
#define BITS_OF(v) as_int4(convert_float4(v))
#else
typedef int moved;
typedef ELEMENT elements;
#define BITS_OF(v) as_int((float)(v))
#endif
#if !CONVERTS
#undef BITS_OF
#define BITS_OF(v) (v)
#endif

/* Where an array of elements begins that is passed as one of floats. */
#define ELEMENTS_AT(array, at) \
  ((global const ELEMENT *)((global const float *)(array) + (size_t)(at)*CONV_ALIGN))
