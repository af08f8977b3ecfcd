/* The seam behind the one parallel loop: a team is a set of threads that carries loops out.
 *
 * threads.c cuts a loop into parts, runs it on the calling thread where that is enough, and
 * otherwise hands it to the team, one loop at a time. Each kind of team is one file: openmp.c has
 * OpenMP's threads, pool.c has threads of its own, lent.c has those that the program lends. A new
 * kind is a new file with a function that makes its cvy_team, and a line of choice.c.
 *
 * A thread that works for a team calls cvy_loop_join, as a member that no other thread is at the
 * time. Denormals must be flushed meanwhile (denormals.h); threads.c leaves the calling thread's to
 * its caller. */
#ifndef CVY_CPU_THREADS_TEAM_H
#define CVY_CPU_THREADS_TEAM_H

#include "cpu/threads/loop.h"

/* The first member of each kind's own type. */
typedef struct cvy_team cvy_team;
struct cvy_team {
  /* Whether the team can take the next loop of the calling thread, with so many members; the pool
   * carries it out otherwise. NULL: always. */
  bool (*ready)(cvy_team *team, int32_t members);
  /* Carries out the loop on the calling thread and on at most `helpers` >= 1 others. Returns when
   * all parts are done and no thread looks at the loop any more. */
  void (*run)(cvy_team *team, cvy_loop *loop, int64_t helpers);
};

/* pool.c: threads of our own, as many as loops have asked for. The pool is always there, because a
 * child made by fork(), which has none of any team's threads, computes on it. */
cvy_team *cvy_pool_open(void);       /* NULL if there is no memory for it */
void cvy_pool_close(cvy_team *pool); /* ends and joins the threads */
/* Makes the pool usable in a child, by the thread that called fork(). */
void cvy_pool_after_fork(cvy_team *pool);

/* lent.c: the threads that a program has anyway. */
typedef struct cvy_lent_team {
  cvy_team team;
  convoy_team *call;
} cvy_lent_team;
cvy_lent_team cvy_lent_team_of(convoy_team *call);

#endif
