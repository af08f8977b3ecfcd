/* xoshiro256** (Blackman and Vigna), seeded by splitmix64. */
#include "common/random.h"

#include <math.h>

static uint64_t rotate(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

static uint64_t splitmix(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void random_seed(struct random_state *state, uint64_t seed) {
  for (int i = 0; i < 4; i++) state->word[i] = splitmix(&seed);
}

uint64_t random_next(struct random_state *state) {
  uint64_t *s = state->word;
  uint64_t result = rotate(s[1] * 5, 7) * 9;
  uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate(s[3], 45);
  return result;
}

double random_uniform(struct random_state *state) {
  return (double)(random_next(state) >> 11) * 0x1p-53;
}

double random_normal(struct random_state *state) {
  double radius = sqrt(-2.0 * log(1.0 - random_uniform(state)));
  return radius * cos(2.0 * 3.14159265358979323846 * random_uniform(state));
}

void random_order(struct random_state *state, int32_t *order, int64_t count) {
  for (int64_t i = 0; i < count; i++) order[i] = (int32_t)i;
  for (int64_t i = count - 1; i > 0; i--) {
    int64_t j = (int64_t)(random_uniform(state) * (double)(i + 1));
    int32_t swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
  }
}
