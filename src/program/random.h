/* How random() is made: four neighbouring elements share one evaluation of Philox. */
#ifndef CVY_PROGRAM_RANDOM_H
#define CVY_PROGRAM_RANDOM_H

#include "program/program.h"

void cvy_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The words of elements 4 quad to 4 quad + 3. */
void cvy_random_four(const cvy_program_stream *stream, int call, uint64_t quad, uint32_t out[4]);

static inline float cvy_random_float(uint32_t word) {
  return (float)(word >> 8) * 0x1p-24f;
}

#endif
