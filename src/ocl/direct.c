/* ocl.direct: convolution by its definition. It takes every legal problem and needs no workspace,
 * so that nothing is ever unsupported, and is the last row of the table. */
#include "ocl/direct.h"

const cvy_algorithm cvy_ocl_direct = {
    .name = "ocl.direct",
    .directions = 1u << CONVOY_FORWARD | 1u << CONVOY_BACKWARD_DATA |
                  1u << CONVOY_BACKWARD_WEIGHTS | 1u << CONVOY_BACKWARD_BIAS,
    .conservative = true,
};
