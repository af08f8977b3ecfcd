/* The team of a program that lends its threads. */
#include "cpu/threads/denormals.h"
#include "cpu/threads/team.h"

typedef struct lent_loop {
  cvy_loop *loop;
  atomic_int joined; /* threads of the program that came to the loop */
} lent_loop;

/* Runs on each thread of the program's team, which may have more of them than the loop has
 * members. */
static void join(void *arg) {
  lent_loop *v = arg;
  int32_t member = atomic_fetch_add_explicit(&v->joined, 1, memory_order_relaxed);
  if (member >= v->loop->members) return;
  uint64_t mode = cvy_denormals_flush();
  cvy_loop_join(v->loop, member);
  cvy_denormals_restore(mode);
}

/* All of the program's threads are called however few would do: OpenMP ends and starts threads when
 * the size of its team changes. */
static void run(cvy_team *team, cvy_loop *loop, int64_t helpers) {
  const cvy_lent_team *lent = (const cvy_lent_team *)team;
  lent_loop v = {.loop = loop};
  (void)helpers;
  lent->call(join, &v, 0, 0);
}

cvy_lent_team cvy_lent_team_of(convoy_team *call) {
  return (cvy_lent_team){.team = {.run = run}, .call = call};
}
