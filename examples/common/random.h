/* A small random generator whose whole state is four words, so that a checkpoint can hold it. */
#ifndef COMMON_RANDOM_H
#define COMMON_RANDOM_H

#include <stdint.h>

struct random_state {
  uint64_t word[4];
};

void random_seed(struct random_state *state, uint64_t seed);
uint64_t random_next(struct random_state *state);

/* Uniform in [0, 1) and normal with mean 0 and deviation 1. */
double random_uniform(struct random_state *state);
double random_normal(struct random_state *state);

/* Writes 0 .. count - 1 to `order`, shuffled. */
void random_order(struct random_state *state, int32_t *order, int64_t count);

#endif
