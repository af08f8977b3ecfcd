/* The reference of moves: where each element comes from. Arguments must be legal. Nothing is
 * rounded but integers, to float32: magnitudes are 0. */
#ifndef CONVOY_REF_MOVE_H
#define CONVOY_REF_MOVE_H

#include "convoy/convoy.h"
#include "ref.h"

/* Element `index` of y, of an x of this type. */
ref_value ref_copy(const convoy_box *box, convoy_dtype dtype, const void *x, int64_t index);

/* Element `index` of the concatenation of `count` arrays as convoy_parse_concatenate describes
 * them. */
ref_value ref_concatenate(int32_t count, const convoy_dtype *dtypes,
                          const int64_t shapes[][CONVOY_MAX_DIMS], const void *const *inputs,
                          int64_t index);

#endif
