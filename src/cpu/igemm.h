/* How cpu.implicit_gemm cuts forward and backward_data into work for the microkernel. Both are maps:
 * each output is a sum over channels and taps of a source laid out in padded planes (cpu/planes.h).
 *
 * Backward_data with a stride falls into phases: inputs whose index + padding leaves the same
 * remainder see the same taps, the others are never touched. All phases read the same planes of dy, at
 * `place` = (index + padding) / stride of the first input, plus 0, 1, 2 ... */
#ifndef CVY_CPU_IGEMM_H
#define CVY_CPU_IGEMM_H

#include "cpu/planes.h"
#include "cpu/row.h"

typedef struct cvy_igemm_plan {
  cvy_problem whole; /* merged */
  cvy_problem p;     /* what is laid out, always forward: source in, places of a phase out */
  bool data;         /* filters are read with channels swapped, results go to phases of x */
  const cvy_ukr *ukr;
  int64_t channels, outputs, taps; /* per group; taps of all phases together */
  int64_t phases;
  int64_t tiles;         /* of outputs, per group */
  int axis;              /* the one whose places are cut into blocks */
  int64_t block, blocks; /* places of that axis at a time; how many times */
  bool by_rows;          /* strips end with rows of outputs, else they run through the gaps */
  int64_t at_once;       /* channels whose part of a strip stays in the L1 cache */
  int64_t together;      /* tiles whose filters stay in cache together */
  int64_t parts;         /* of the tiles, where images and blocks do not do for the threads */
  int64_t x_pitch;       /* floats per channel in a block's planes */
  int64_t filter_floats; /* all packed filters */
  int64_t order_floats;  /* and the list of their taps */
  int64_t slots, slot_floats;
} cvy_igemm_plan;

/* False with a reason if the problem is not for it. */
bool cvy_igemm_takes(const cvy_problem *problem, cvy_text *reason);
cvy_igemm_plan cvy_igemm_plan_for(const cvy_problem *problem, const cvy_facts *facts);
int64_t cvy_igemm_bytes(const cvy_igemm_plan *plan);

/* igemm_taps.c: remainder of phase `phase` along each axis. */
void cvy_igemm_phase(const cvy_igemm_plan *plan, int64_t phase, int64_t remainder[3]);
/* Lists the taps phase by phase: order[begin[i]] to order[begin[i + 1] - 1] are numbers of taps within
 * a filter that phase i uses. */
void cvy_igemm_order(const cvy_igemm_plan *plan, int64_t *begin, int64_t *order);
/* Where tap number `tap` begins to read in planes laid out so. */
int64_t cvy_igemm_tap(const cvy_igemm_plan *plan, const cvy_planes_layout *layout, int64_t tap);

/* igemm_pack.c: the filters as the microkernel reads them, [phase][group][tile][channel][tap][row],
 * rows beyond the last output 0. */
void cvy_igemm_pack(const cvy_igemm_plan *plan, const cvy_cpu_call *call, const int64_t *begin,
                    const int64_t *order, float *to);

/* igemm_maps.c: forward and backward_data. */
void cvy_igemm_maps(const cvy_cpu_call *call);

/* igemm_weights.c: backward_weights. */
bool cvy_igemm_weights_takes(const cvy_problem *problem, cvy_text *reason);
int64_t cvy_igemm_weights_bytes(const cvy_problem *problem, const cvy_facts *facts);
void cvy_igemm_weights(const cvy_cpu_call *call);

#endif
