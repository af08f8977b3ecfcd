/* The reference of matrix products: the definition, in float64. Arguments must be legal
 * (convoy_matmul or convoy_parse_matmul has accepted them). */
#ifndef CONVOY_REF_MATMUL_H
#define CONVOY_REF_MATMUL_H

#include "convoy/convoy.h"
#include "ref.h"

/* Element `index` of y, of a and b as convoy_parse_matmul describes them. */
ref_value ref_matmul(uint32_t flags, const int32_t dims[3],
                     const int64_t shapes[3][CONVOY_MAX_DIMS], const float *a, const float *b,
                     int64_t index);

#endif
