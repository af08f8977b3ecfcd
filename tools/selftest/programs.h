/* The programs and reductions of the self-test, and how one is checked. */
#ifndef SELFTEST_PROGRAMS_H
#define SELFTEST_PROGRAMS_H

#include "common/operation.h"
#include "selftest/sample.h"

enum { PROGRAM_TEXT = 1024 };

typedef struct program_sample {
  char text[PROGRAM_TEXT];
  float offset; /* which values lie around */
} program_sample;

/* Writes the `i`-th of the built-in list, which has all programs with a name, their operands of all
 * classes in turn, and what they leave out. Returns false if there are no more. */
bool program_sample_at(int i, program_sample *out);

/* Ways to call: results in tensors of their own, or in those of the operands of the same name. */
enum { PROGRAM_WAYS = 2 };
extern const char *const program_ways[PROGRAM_WAYS];
bool program_has_way(const operation *what, int way);

/* Carries it out by `algorithm` in one way, and compares: with the CPU engine's results, of `cpu`,
 * bit for bit, and with the float64 reference. A refusal is ERR_UNSUPPORTED. */
outcome program_check(operation *what, convoy_context *cpu, const device *where,
                      const char *algorithm, int way);

#endif
