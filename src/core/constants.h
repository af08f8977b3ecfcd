/* Numbers that programs read: tensors of one element each that the context has once, so that the
 * device gets each once, and a graph reads it once, however many operations name it. */
#ifndef CVY_CONSTANTS_H
#define CVY_CONSTANTS_H

#include "core/tensor.h"

/* The tensor stays the context's; it is there at least until as many other numbers have been asked
 * for as the context keeps. With the context's lock held. */
convoy_status cvy_constant(convoy_context *context, float number, convoy_tensor **out);
/* The context closes. */
void cvy_constants_drop(convoy_context *context);

#endif
