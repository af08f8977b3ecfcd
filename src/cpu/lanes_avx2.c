/* The inner loops for AVX2+FMA. */
#define LANES 8
#define TILE_ROWS 4
#define NARROW_ROWS 2
#define INNER_COLUMNS 3
#include "cpu/lanes_body.h"

const cvy_lanes cvy_lanes_avx2 = LANES_TABLE("AVX2+FMA");
