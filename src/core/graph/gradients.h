/* Gradients of what has been captured, noted as nodes behind it. */
#ifndef CVY_GRADIENTS_H
#define CVY_GRADIENTS_H

#include "core/graph/graph.h"

/* As convoy_gradients; the tensors are the context's. */
convoy_status cvy_gradients(convoy_context *context, convoy_tensor *y, convoy_tensor *dy,
                            int32_t count, convoy_tensor *const of[], convoy_tensor *const out[]);

#endif
