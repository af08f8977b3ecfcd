/* The inner loops for AVX-512. */
#define LANES 16
#define TILE_ROWS 8
#define NARROW_ROWS 4
#define INNER_COLUMNS 6
#include "cpu/lanes_body.h"

const cvy_lanes cvy_lanes_avx512 = LANES_TABLE("AVX-512");
