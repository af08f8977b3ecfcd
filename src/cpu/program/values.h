/* A program's values for runs of elements of a nest (program/nest.h), wherever its inputs lie.
 *
 * An input that is in one piece is read where it is, one that is the same for the whole run is one
 * number, and any other is gathered into scratch memory, a block at a time. Where the innermost
 * loop is long, runs are pieces of it; where it is short, a run takes several rows, and what is one
 * number per row is gathered as well. */
#ifndef CVY_CPU_PROGRAM_VALUES_H
#define CVY_CPU_PROGRAM_VALUES_H

#include "cpu/program/run.h"
#include "program/nest.h"

enum {
  CVY_VALUES_BLOCK = 512, /* elements that are gathered at a time */
  CVY_VALUES_SCRATCH = CVY_PROGRAM_INPUTS * CVY_VALUES_BLOCK /* floats */
};

typedef struct cvy_program_values {
  cvy_program_nest nest;
  cvy_program_plan plan;
  const void *input[CVY_PROGRAM_INPUTS];
  cvy_program_position position; /* of a run, but for its first element */
  uint32_t gathered;             /* bits of the inputs that are */
  bool placed;                   /* there is index() or random() */
  bool by_rows;                  /* runs are pieces of the innermost loop */
} cvy_program_values;

void cvy_program_values_open(const cvy_program_problem *problem, const cvy_program_nest *nest,
                             const void *const *inputs, const cvy_program_simd *simd,
                             cvy_program_values *out);

/* How many of `count` elements from `first` on are one run. */
int64_t cvy_program_values_length(const cvy_program_values *values, const cvy_program_cursor *first,
                                  int64_t count);
/* The values of one run; results as in cvy_program_arrays. `scratch` is a thread's own. */
void cvy_program_values_run(const cvy_program_values *values, const cvy_program_cursor *first,
                            int64_t count, float *const *results, float *scratch);

/* A run from `first` on is next: what it reads is asked for. Of use where it does not lie behind
 * what was read before, which processors find by themselves. */
void cvy_program_values_ask_ahead(const cvy_program_values *values,
                                  const cvy_program_cursor *first);

/* Where the values of elements from `first` on lie already: the only result is an input, of which
 * they are one piece. NULL: they have to be computed. */
const float *cvy_program_values_lying(const cvy_program_values *values,
                                      const cvy_program_cursor *first, int64_t count);

/* Elements from `first` on between `memory`, which has these strides, and one piece. */
void cvy_program_gather(const cvy_program_nest *nest, const int64_t *stride, int64_t bytes,
                        const void *memory, const cvy_program_cursor *first, int64_t count,
                        void *piece);
void cvy_program_scatter(const cvy_program_nest *nest, const int64_t *stride, float *memory,
                         const cvy_program_cursor *first, int64_t count, const float *piece);
/* Whether an operand of these strides lies in one piece, in the order of the nest. */
bool cvy_program_in_one_piece(const cvy_program_nest *nest, const int64_t *stride);

#endif
