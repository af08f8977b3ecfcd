/* The table of OpenCL algorithms: all rows, where there is OpenCL. */
#include "ocl/rows.h"

#define ADDRESS(name) &cvy_ocl_##name,

const cvy_algorithm *const cvy_ocl_algorithms[] = {
#if CONVOY_HAVE_OPENCL
    CVY_OCL_ROWS(ADDRESS)
#endif
        NULL};
