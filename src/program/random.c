/* Random numbers as a function of where they are wanted, not of what was drawn before: Philox
 * 4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3", SC '11, doi:10.1145/2063384.2063405. */
#include "program/random.h"

void cvy_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
  for (int round = 0; round < 10; round++) {
    uint64_t p = (uint64_t)0xd2511f53u * c[0], q = (uint64_t)0xcd9e8d57u * c[2];
    const uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k[0], (uint32_t)q,
                              (uint32_t)(p >> 32) ^ c[3] ^ k[1], (uint32_t)p};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    k[0] += 0x9e3779b9u;
    k[1] += 0xbb67ae85u;
  }
  for (int i = 0; i < 4; i++) out[i] = c[i];
}

cvy_program_stream cvy_program_stream_of(uint64_t seed, uint64_t run, uint64_t node) {
  const uint32_t counter[4] = {(uint32_t)run, (uint32_t)(run >> 32), (uint32_t)node,
                               (uint32_t)(node >> 32)};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  cvy_program_stream stream = {{0}};
  cvy_philox(counter, key, stream.word);
  return stream;
}

void cvy_random_four(const cvy_program_stream *stream, int call, uint64_t quad, uint32_t out[4]) {
  const uint32_t counter[4] = {(uint32_t)quad, (uint32_t)(quad >> 32), stream->word[2],
                               stream->word[3] + (uint32_t)call};
  cvy_philox(counter, stream->word, out);
}

float cvy_program_random(const cvy_program_stream *stream, int call, uint64_t index) {
  uint32_t four[4];
  cvy_random_four(stream, call, index / 4, four);
  return cvy_random_float(four[index % 4]);
}
