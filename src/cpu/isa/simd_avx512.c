/* The inner loops for AVX-512. */
#define WIDTH 16
#define TILE_ROWS 8
#define NARROW_ROWS 4
#define INNER_COLUMNS 6
#define EVEN_OF_TWO 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_OF_TWO 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define FIRST_PAIRS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define LAST_PAIRS 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#include "cpu/isa/simd_body.h"

const cvy_simd cvy_simd_avx512 = SIMD_TABLE("AVX-512");
