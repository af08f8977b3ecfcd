/* How cpu.implicit_gemm cuts its work. */
#ifndef CVY_CPU_IGEMM_H
#define CVY_CPU_IGEMM_H

#include "cpu/planes.h"
#include "cpu/row.h"

typedef struct cvy_igemm_plan {
  cvy_problem p; /* merged, and always forward: backward_data becomes its mirror image */
  bool mirrored; /* filters are read with channels swapped and taps reversed */
  const cvy_ukr *ukr;
  int64_t channels, outputs, taps; /* per group */
  int64_t tiles;                   /* of outputs, per group */
  int axis;                        /* the one whose outputs are cut into blocks */
  int64_t block, blocks;           /* outputs of that axis at a time; how many times */
  int64_t together;                /* tiles whose filters stay in cache together */
  int64_t parts;         /* of the tiles, where images and blocks do not do for the threads */
  int64_t x_pitch;       /* floats per channel in a block's planes */
  int64_t filter_floats; /* all packed filters */
  int64_t slots, slot_floats;
} cvy_igemm_plan;

/* False with a reason if the problem is not for it. */
bool cvy_igemm_takes(const cvy_problem *problem, cvy_text *reason);
cvy_igemm_plan cvy_igemm_plan_for(const cvy_problem *problem, const cvy_facts *facts);
int64_t cvy_igemm_bytes(const cvy_igemm_plan *plan);

/* One block as a problem of its own: outputs [first, first + count) of the axis. *skip gets where its
 * input begins in a channel. */
cvy_problem cvy_igemm_block(const cvy_igemm_plan *plan, int64_t first, int64_t *skip);

/* igemm_pack.c: the filters as the microkernel reads them, [group][tile][channel][tap][row], rows
 * beyond the last output 0. */
void cvy_igemm_pack(const cvy_igemm_plan *plan, const cvy_cpu_call *call, float *to);

#endif
