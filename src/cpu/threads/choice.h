/* Which team carries out the loops of a CPU engine: OpenMP's threads or a pool of our own. */
#ifndef CVY_CPU_THREADS_CHOICE_H
#define CVY_CPU_THREADS_CHOICE_H

#include "cpu/threads/team.h"

/* The team for `count` threads, NULL: the pool. What CONVOY_TEAM says, else OpenMP's where OpenMP
 * has as many threads. Always the pool in a child made by fork(). */
convoy_status cvy_team_choose(int32_t count, cvy_team **out);

/* The same in words, for `convoy info`. With `wanted` 0 for as many as the process may use. */
void cvy_team_name(int32_t wanted, cvy_text *words);

#endif
