/* An index space as nested loops: as few of them as possible, the innermost as long as possible.
 *
 * Neighbouring axes become one where every operand steps through them as through one. So a program
 * over full arrays and single numbers is one loop; with a number per channel it is images,
 * channels, positions; the general case has five loops. */
#ifndef CVY_PROGRAM_NEST_H
#define CVY_PROGRAM_NEST_H

#include "program/problem.h"

typedef struct cvy_program_nest {
  int32_t axes;                     /* at least 1 */
  int32_t outer;                    /* those of them that came of the first group */
  int64_t count;                    /* all elements */
  int64_t extent[CVY_PROGRAM_AXES]; /* outermost first */
  int64_t input[CVY_PROGRAM_INPUTS][CVY_PROGRAM_AXES]; /* strides in elements */
  int64_t result[CVY_PROGRAM_RESULTS][CVY_PROGRAM_AXES];
  int64_t index[CVY_PROGRAM_AXES]; /* of the element's number in the index space */
} cvy_program_nest;

/* The axes in an order of two groups: first those whose bits are not in `last`, then those in it;
 * each group in the order of n c z h w. No axis is merged across the groups. The problem must not
 * be empty. */
void cvy_program_nest_of(const cvy_program_problem *problem, int results, uint32_t last,
                         cvy_program_nest *out);

/* Where one is in a nest: an element's number in its order, and the index along each loop. */
typedef struct cvy_program_cursor {
  int64_t number, at[CVY_PROGRAM_AXES];
} cvy_program_cursor;

cvy_program_cursor cvy_program_nest_at(const cvy_program_nest *nest, int64_t number);
/* So many elements on; within the innermost loop it takes no division. */
void cvy_program_nest_go_on(const cvy_program_nest *nest, cvy_program_cursor *cursor,
                            int64_t count);
/* Elements of the innermost loop from here on, of `count`. */
static inline int64_t cvy_program_nest_rest(const cvy_program_nest *nest,
                                            const cvy_program_cursor *cursor, int64_t count) {
  int64_t rest = nest->extent[nest->axes - 1] - cursor->at[nest->axes - 1];
  return rest < count ? rest : count;
}
/* In elements, of an operand of these strides. */
int64_t cvy_program_nest_offset(const cvy_program_nest *nest, const int64_t *stride,
                                const cvy_program_cursor *cursor);

#endif
