/* These small problems have every feature between them, with numbers that differ within each, so
 * that exchanged letters show. */
#include "selftest/problems.h"

#include <stddef.h>

const char *const selftest_problems[] = {
    /* rank 1 */
    "n2c3w11 k5s3",
    "n3c4w17 k6s5 stride2 pad2 groups2",
    "n2c6w19 k6s4 pad1:3 dil2 groups6",
    "n1c2w8 k4s8",
    "n2c6w9 k4s4 stride3 pad1 groups2 transposed outpad2",
    /* rank 2: plain, one by one, strided, padded on one side, dilated */
    "n2c3h7w9 k5r3s2",
    "n3c8h5w6 k7r1s1",
    "n2c5h9w8 k4r1s1 stride2",
    "n1c3h13w11 k16r3s3 stride2 pad1",
    "n2c4h8w10 k6r3s5 pad1,2",
    "n2c6h17w14 k4r3s4 stride2,5 pad1:0,3 dil4,2 groups2",
    "n1c2h6w5 k3r6s5",
    "n2c3h5w4 k5r3s3 pad4,3",
    /* rank 2: grouped, depthwise, depthwise with multiplier */
    "n2c12h7w6 k8r3s2 groups4",
    "n3c5h10w9 k5r3s3 pad1 groups5",
    "n2c4h11w7 k12r3s2 stride2,1 pad1,0 groups4",
    "n1c8h1w40 k8r1s16 pad0,8 groups8",
    /* rank 2: more than one tile of the blocked algorithms in each extent */
    "n2c33h12w13 k35r3s3 pad1",
    "n1c66h9w10 k130r1s1",
    "n3c17h21w19 k67r2s3 stride2 pad1",
    /* rank 2: transposed */
    "n2c5h4w6 k3r3s2 stride2 transposed",
    "n1c4h5w3 k6r4s3 stride3,2 pad1,0 groups2 transposed outpad2,1",
    /* rank 3 */
    "n2c3z4h6w5 k4t2r3s2",
    "n1c4z7h5w6 k6t3r2s3 stride2,1,3 pad1,0,2 dil1,2,1 groups2",
    "n2c6z3h5w4 k6t3r3s3 pad1 groups6",
    "n1c3z3h4w2 k5t2r3s2 stride2,3,1 pad1,0,0 transposed outpad1,0,0",
    NULL,
};
