/* The inner loops for AVX2+FMA. */
#define WIDTH 8
#define TILE_ROWS 4
#define NARROW_ROWS 2
#define INNER_COLUMNS 3
#define EVEN_OF_TWO 0, 2, 8, 10, 4, 6, 12, 14
#define ODD_OF_TWO 1, 3, 9, 11, 5, 7, 13, 15
#define FIRST_PAIRS 0, 8, 1, 9, 2, 10, 3, 11
#define LAST_PAIRS 4, 12, 5, 13, 6, 14, 7, 15
#include "cpu/isa/simd_body.h"

const cvy_simd cvy_simd_avx2 = SIMD_TABLE("AVX2+FMA");
