/* Arrays that lie within others, and problems that make them lie so. The planner, which places
 * arrays, asks: what a concatenation or a slice does need not be done where its arrays are given
 * such places. */
#ifndef CVY_PROBLEM_SLICE_H
#define CVY_PROBLEM_SLICE_H

#include "problem/problem.h"

/* Where the elements of an array lie in a larger one: `images` stretches of `width` elements,
 * `pitch` apart, from element `at` on; of one stretch `pitch` is `width`. */
typedef struct cvy_region {
  int64_t at, images, width, pitch;
} cvy_region;

/* How an input of a problem and its result 0 have the same elements, to the bit. */
typedef enum cvy_kinship {
  CVY_KIN_NONE,       /* they have not */
  CVY_KIN_IN_RESULT,  /* the input is a part of the result */
  CVY_KIN_HAS_RESULT, /* the result, the only one, is a part of the input, and of it alone */
} cvy_kinship;

/* With where the one lies in the other. Only arrays of float32 numbers are kin. */
cvy_kinship cvy_problem_kin(const cvy_problem *problem, int32_t input, cvy_region *out);
/* The result's parts that are these inputs lie where they belong, and need not be moved. */
void cvy_problem_settle(cvy_problem *problem, uint32_t inputs);

/* Makes input `i`, or output `i`, an array that lies so. False: the operation has no such problem,
 * and this one may be any other. What adds to what is there has no parts. */
bool cvy_problem_lay_input(cvy_problem *problem, int32_t i, const cvy_region *region);
bool cvy_problem_lay_output(cvy_problem *problem, int32_t i, const cvy_region *region);

/* Where a region of a region lies in the whole; false: its elements are not so regular there. */
bool cvy_region_within(const cvy_region *outer, const cvy_region *inner, cvy_region *out);

/* For the rows: how an array lies whose images are the region's, or that is in one stretch. */
bool cvy_region_view(const cvy_array *array, const cvy_region *region, cvy_array_view *out);

#endif
