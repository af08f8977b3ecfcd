/* Which addresses are taken when: where in a plan's memory there is room for one more value, found
 * without a look at all that are there already. Moments are the leaves of a tree. Each of its nodes
 * has the addresses that are taken all the time that it stands for, and those that are at any
 * moment of it; what is taken side by side is one run, of which there are few. */
#ifndef CVY_OCCUPIED_H
#define CVY_OCCUPIED_H

#include "base/base.h"

/* From one moment until another, both included. */
typedef struct cvy_moments {
  int32_t first, last;
} cvy_moments;

typedef struct cvy_run {
  int64_t begin, end;
} cvy_run;

/* In the order of their addresses; no two of them touch. */
typedef struct cvy_runs {
  cvy_run *run;
  int32_t count, room;
} cvy_runs;

typedef struct cvy_occupied {
  int32_t leaves;          /* a power of two */
  cvy_runs *always, *ever; /* of each node of the tree, the root being 1 */
} cvy_occupied;

/* For moments from 0 to `moments` - 1; nothing is taken. ERR_MEMORY; there is nothing to close
 * then. */
convoy_status cvy_occupied_open(int32_t moments, cvy_occupied *out);
void cvy_occupied_close(cvy_occupied *occupied);

/* The least address of so many bytes that are free all the time and not on both sides of a multiple
 * of `block`, which is no less than `bytes`. */
int64_t cvy_occupied_least(const cvy_occupied *occupied, cvy_moments span, int64_t bytes,
                           int64_t block);
/* Takes them. ERR_MEMORY. */
convoy_status cvy_occupied_add(cvy_occupied *occupied, cvy_moments span, int64_t at, int64_t bytes);

#endif
