/* The shapes on which test_rows runs every row. All their numbers are different where a row allows
 * it. */
#ifndef TEST_OCL_ROW_SHAPES_H
#define TEST_OCL_ROW_SHAPES_H

static const char *const shapes[] = {
    "n2c6h7w5 k8r3s2 stride2,1 pad1:0,0:1 dil1,2 groups2 forward",
    "n1c5h5w6 k4r2s3 stride1,2 pad1,1 forward",
    "n1c9w13 k5s4 stride3 pad2:1 forward",
    "n1c4h3w3 k4r1s1 groups4 forward",
    "n2c3z4h5w6 k5t2r3s2 stride1,2,3 pad1,0,1 forward",
    "n2c16h17w14 k24r3s3 pad1 forward",
    "n2c6h17w14 k4r4s3 stride2,5 pad1:0,3 dil4,2 groups2 forward",
    "n3c40h9w11 k36r1s1 forward",
    "n2c20h7w11 k18r1s1 stride2,3 pad0:3,0 groups2 forward",
    "n1c33h20w19 k70r3s3 stride2 pad1 forward",
    "n2c12h10w9 k12r5s3 pad2,1 groups12 forward",
    "n2c7h8w9 k14r3s3 pad1 groups7 forward",
    "n1c1h28w28 k16r3s3 stride2 pad1 forward",
    "n4c3h15w16 k20r7s7 stride2 pad3 forward",
    "n1c8h6w7 k9r6s7 forward",
    "n2c10h3w2 k6r2s2 stride7,9 forward",
    "n1c130w17 k40s3 pad1 dil3 forward",
    "n1c4z6h7w8 k8t3r3s3 stride2 pad1 groups2 forward",
    "n5c64h4w4 k64r3s3 pad1 forward",
    "n1c20h31w3 k18r3s1 stride3,1 pad0:2,0 forward",
    "n2c4h7w5 k4r3s2 stride600000000,700000000 forward", /* beyond 32-bit positions */
    "n2c5h9w8 k6r3s4 stride2,3 pad1,2 transposed outpad1,2 forward",
    "n3c20h13w9 k18r3s3 pad0:2,3:1 groups2 forward",
    "n2c9z2h10w7 k8t1r3s3 pad0,1,1 forward",
    "n2c8h9w8 k10r3s3 pad1 transposed forward",
    "n1c2z5h6w8 k3t4r3s2 stride3,1,2 pad2:0,1:3,0:4 dil1,2,5 forward",
    "n2c1h3w70 k5r1s13 pad0,6 forward",
    "n1c3h4w40 k7r3s17 stride2,1 pad1:2,9 dil2,1 forward",
    "n70c5h2w3 k33r2s3 stride2,3 forward",
    "n3c40z2h3w1 k130t2r3s1 stride1,2,5 forward",
};

/* These are for simulators, which carry out a million instructions a second. */
static const char *const tiny_shapes[] = {
    "n1c4h3w2 k5r2s2 stride2,1 pad1:0,0:1 dil1,2 forward",
    "n2c8w3 k8s2 stride2 pad1 groups2 forward",
    "n1c3h3w2 k6r2s2 stride2,1 pad1 groups3 forward",
    "n1c8h4w5 k2r3s3 pad1 forward",
    "n1c5h3w4 k4r1s1 stride2 forward",
    "n2c2h7w8 k2r3s3 pad1 forward",
    "n1c2h3w4 k4r3s2 stride2,1 pad1 forward",
    "n1c1h2w9 k3r1s9 pad0,4 forward",
    "n2c2w10 k5s8 pad3:2 forward",
    "n2c3h2w3 k4r2s3 forward",
    "n3c1w5 k2s5 stride2 forward",
    "n1c2z2h1w2 k3t2r1s2 stride2,1,3 forward",
};

/* These are run with the parameters that a GPU gets, one or several programs each. They are few,
 * with whole and broken tiles, groups, phases, taps of both kinds, and slices. */
static const char *const gpu_shapes[] = {
    "n2c6h7w5 k8r3s2 stride2,1 pad1:0,0:1 dil1,2 groups2 forward",
    "n2c16h6w10 k24r3s3 pad1 forward",
    "n3c40h6w6 k36r1s1 forward",
    "n2c68h7w6 k90r1s1 stride2 forward",
    "n1c40z3h7w8 k36t1r1s1 stride2,3,1 pad0,0:2,0 groups2 forward",
    "n1c33h10w9 k70r3s3 stride2 pad1 forward",
    "n1c64z2h3w4 k17t2r1s3 stride1,2,1 pad1,0,1 forward",
    "n2c3w50 k20s40 pad3 forward",
    "n3c4h11w20 k4r3s3 pad1 groups4 forward",
    "n2c5h8w9 k10r5s4 stride2 pad1 groups5 forward",
    "n2c40h9w10 k72r3s3 pad0:2,1:0 forward",
    "n3c70h18w7 k16r3s3 pad1 groups2 forward",
    "n2c2h20w9 k4r20s1 groups2 forward",
    "n1c3h2w50 k3r1s40 pad0,20 groups3 forward",
    "n1c2h9w12 k2r3s3 pad2 dil2 groups2 forward",
    "n1c3h12w16 k17r3s3 stride2 pad1 forward",
    "n2c1h3w30 k8r1s20 pad0,10 forward",
    "n2c1h3w150 k9r1s33 pad0,20:7 forward",
    "n1c3h4w70 k5r3s17 stride2,1 pad1:2,9 dil2,1 forward",
    "n2c2w300 k11s65 stride3 pad40 dil2 forward",
    "n1c2z5h6w8 k3t4r3s2 stride3,1,2 pad2:0,1:3,0:4 dil1,2,5 forward",
    "n2c3z7h5w6 k6t3r2s3 stride3,2,1 pad2:1,1,1 dil2,1,1 groups3 forward",
    "n70c5h2w3 k33r2s3 stride2,3 forward",
    "n3c40z2h3w1 k130t2r3s1 stride1,2,5 forward",
    "n9c9h6w7 k9r6s7 forward",
};

#endif
