/* A team as a program may lend it: `team_members` threads, the caller's included, made for each
 * call. */
#ifndef TESTS_CPU_TEAM_H
#define TESTS_CPU_TEAM_H

#include <stdatomic.h>

#include "convoy/convoy.h"

#define TEAM_MOST 16

extern int team_members; /* 1 .. TEAM_MOST */
extern atomic_int team_calls;

convoy_team team_of_test;

#endif
