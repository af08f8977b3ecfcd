/* The inner loops for any processor the compiler targets by default. */
#define WIDTH 4
#define TILE_ROWS 4
#define NARROW_ROWS 2
#define INNER_COLUMNS 3
#define EVEN_OF_TWO 0, 2, 4, 6
#define ODD_OF_TWO 1, 3, 5, 7
#define FIRST_PAIRS 0, 4, 1, 5
#define LAST_PAIRS 2, 6, 3, 7
#include "cpu/isa/simd_body.h"

const cvy_simd cvy_simd_baseline = SIMD_TABLE("generic (SSE2 on x86)");
