/* The reference of moves: where each element comes from. Arguments must be legal. Nothing is
 * rounded but integers, to float32: magnitudes are 0. */
#ifndef CONVOY_REF_MOVE_H
#define CONVOY_REF_MOVE_H

#include "convoy/convoy.h"
#include "ref.h"

/* Element `index` of y, of an x of this type. */
ref_value ref_copy(const convoy_box *box, convoy_dtype dtype, const void *x, int64_t index);

#endif
