/* The inner loops for any processor the compiler targets by default. */
#define LANES 4
#define TILE_ROWS 4
#define NARROW_ROWS 2
#define INNER_COLUMNS 3
#include "cpu/lanes_body.h"

const cvy_lanes cvy_lanes_baseline = LANES_TABLE("generic (SSE2 on x86)");
