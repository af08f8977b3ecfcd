/* The reference of resampling: positions in float32, as PyTorch documents them, all else in
 * float64. Arguments must be legal (convoy_parse_resample has accepted them). */
#ifndef CONVOY_REF_RESAMPLE_H
#define CONVOY_REF_RESAMPLE_H

#include "convoy/convoy.h"
#include "ref.h"

/* Element `index` of y, of x, or with `backward` of dx, of dy. Nearest elements have magnitude 0:
 * they are exact. */
ref_value ref_resample(int32_t backward, const convoy_resampling *how, const int64_t *x_shape,
                       const int64_t *y_shape, const float *in, int64_t index);

#endif
