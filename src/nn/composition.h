/* What compositions are made of: several programs on tensors by one public call, which changes all
 * of its outputs or none, carried out at once or captured. Gradients come from the programs.
 *
 *   cvy_composition c;
 *   convoy_status status = cvy_composition_begin(&c, context, run);
 *   if (status) return status;
 *   cvy_view m = cvy_view_of(cvy_compose_new(&c, ...));
 *   cvy_compose(&c, CVY_NN_MAXIMUM, (const cvy_view[]){x, m});
 *   return cvy_composition_end(&c);
 *
 * After the first failure nothing more is done: what functions return then is not to be looked at,
 * only to be handed on. */
#ifndef CVY_COMPOSITION_H
#define CVY_COMPOSITION_H

#include "core/operation.h"
#include "nn/programs.h"

/* Tensors that are the call's own, and the outputs that get what some of them have at the end. */
typedef struct cvy_own {
  convoy_tensor *tensor;
  convoy_tensor *becomes; /* NULL: it is dropped */
} cvy_own;

typedef struct cvy_composition {
  convoy_context *context; /* whose lock is held from the beginning to the end */
  convoy_run *run;
  convoy_status status; /* of the first failure */
  cvy_own *own;
  int32_t count, room;
  uint64_t draws;        /* what they were before, as those below */
  int32_t nodes, values; /* of the capture that is open */
} cvy_composition;

/* A tensor under extents that may be others than its own, of as many elements. `name` is for
 * sentences; NULL: that of the program's operand. */
typedef struct cvy_view {
  const convoy_tensor *tensor;
  cvy_shape shape;
} cvy_view;

/* Takes the context's lock. Failing it has not. */
convoy_status cvy_composition_begin(cvy_composition *c, convoy_context *context, convoy_run *run);
/* Hands the results over, or takes everything back, and gives the lock back. */
convoy_status cvy_composition_end(cvy_composition *c);
/* The call fails, unless it has. Returns false, for conditions. */
bool cvy_composition_fail(cvy_composition *c, convoy_status status, const char *format, ...)
    CVY_PRINTF(3, 4);
/* Whether all is well; takes the status of a check. */
bool cvy_composition_check(cvy_composition *c, convoy_status status);

/* Checks of tensors by name: of the extents of another one, and of one element. False: it fails. */
bool cvy_compose_check_like(cvy_composition *c, const char *name, const convoy_tensor *tensor,
                            const convoy_tensor *like);
bool cvy_compose_check_number(cvy_composition *c, const char *name, const convoy_tensor *tensor);

/* A tensor of these extents, dropped at the end. */
convoy_tensor *cvy_compose_new(cvy_composition *c, int32_t dims, const int64_t *shape);
/* What `output`, a tensor of the caller's, becomes at the end if all goes well. */
convoy_tensor *cvy_compose_output(cvy_composition *c, convoy_tensor *output);
/* One number for all elements. */
const convoy_tensor *cvy_compose_number(cvy_composition *c, double number);
/* Gradients shall not go through it, a result, in a capture. */
void cvy_compose_detach(cvy_composition *c, const convoy_tensor *tensor);

/* A tensor as it is, and under four extents n c h w. */
cvy_view cvy_view_of(const convoy_tensor *tensor);
cvy_view cvy_view_as(const convoy_tensor *tensor, int64_t n, int64_t c, int64_t h, int64_t w);

/* Carries a program out: its inputs in their order, its results behind them. */
void cvy_compose(cvy_composition *c, cvy_nn_program which, const cvy_view *operands);

#endif
