/* The inner loops for AVX2+FMA. */
#define LANES 8
#include "cpu/lanes_body.h"

const cvy_lanes cvy_lanes_avx2 = LANES_TABLE("AVX2+FMA");
