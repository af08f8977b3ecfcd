/* Where the candidates of one problem run: its operands, its right result, and a clock. Candidates
 * take the way of any operation: the same commands to the device, the same wait. */
#ifndef CVY_TUNEBENCH_H
#define CVY_TUNEBENCH_H

#include "core/exec/store.h"
#include "core/verify/check.h"

typedef struct cvy_bench {
  convoy_context *context;
  const cvy_engine *engine;
  cvy_node *node;                     /* on random values */
  cvy_expected expected;              /* what its results should be */
  cvy_store *result[CVY_MAX_OUTPUTS]; /* host memory for them */
} cvy_bench;

/* ERR_MEMORY, or what the CPU engine reports. Close it in any case. */
convoy_status cvy_bench_open(convoy_context *context, const cvy_problem *problem, cvy_bench *out);
void cvy_bench_close(cvy_bench *bench);

/* Runs the candidate once. *right: whether each element of its result is within its bound, and was
 * written. Both fail as the device does, and with ERR_INTERRUPTED. */
convoy_status cvy_bench_check(cvy_bench *bench, const cvy_choice *choice, bool *right);
/* Runs it `batch` times back to back and waits once: seconds for one. */
convoy_status cvy_bench_time(cvy_bench *bench, const cvy_choice *choice, int batch,
                             double *seconds);

#endif
