/* The reference of pooling: the definition, in float64. Arguments must be legal (convoy_parse_pool
 * or convoy_pool_shape has accepted them). */
#ifndef CONVOY_REF_POOL_H
#define CONVOY_REF_POOL_H

#include "convoy/convoy.h"
#include "ref.h"

/* Element `index` of what is made; `in` are the operands in the order of the public function. The
 * maximum has magnitude 0: it is exact. */
ref_value ref_pool(convoy_pool what, const convoy_window *window, const int64_t *x_shape,
                   const int64_t *y_shape, const float *const in[2], int64_t index);

#endif
