#include "cpu/team.h"

#include <pthread.h>

#include "common/cmocka.h"

int team_members = 3;
atomic_int team_calls;

typedef struct member {
  convoy_team_member *run;
  void *arg;
} member;

static void *be_member(void *arg) {
  member *m = arg;
  m->run(m->arg);
  return NULL;
}

void team_of_test(convoy_team_member *run, void *arg, unsigned count, unsigned flags) {
  member m = {run, arg};
  pthread_t other[TEAM_MOST];
  int others = team_members - 1;
  assert_int_equal(count, 0);
  assert_int_equal(flags, 0);
  team_calls++;
  for (int i = 0; i < others; i++)
    assert_int_equal(pthread_create(&other[i], NULL, be_member, &m), 0);
  run(arg);
  for (int i = 0; i < others; i++) pthread_join(other[i], NULL);
}
