/* The build's identity: library, worker and module refuse each other when theirs differ. */
#ifndef CVY_BUILD_ID_H
#define CVY_BUILD_ID_H
extern const char cvy_build_id[];
/* The same for the OpenCL kernels alone: their source without comments and blanks. */
extern const char cvy_kernels_id[];
#endif
