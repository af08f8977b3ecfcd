/* ocl.direct: convolution by its definition. It takes every legal problem and needs no workspace,
 * so that nothing is ever unsupported, and is the last row of the table. */
#include "ocl/rows.h"
#include "problem/conv/conv.h"

const cvy_algorithm cvy_ocl_direct = {
    .name = "ocl.direct",
    .operations = CVY_CONV_ALL,
    .conservative = true,
};
