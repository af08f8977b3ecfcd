/* Carrying out a program on tensors, for the public functions on programs and for those that are
 * made of programs (nn/). */
#ifndef CVY_API_APPLY_H
#define CVY_API_APPLY_H

#include "core/operation.h"
#include "problem/program/bind.h"

/* The operands' extents are given, and may be others than the tensors have, of as many elements.
 * The tensors are the context's; no two outputs are one. With the context's lock held. */
convoy_status cvy_apply(convoy_context *context, const convoy_program *program,
                        const convoy_tensor *const inputs[], const cvy_shape *in,
                        convoy_tensor *const outputs[], const cvy_shape *out, convoy_run *run);

#endif
