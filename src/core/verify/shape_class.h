/* Shape classes: problems that run through the same paths of an algorithm, closely enough that
 * a right result of one, or a fault, says something about the others. */
#ifndef CVY_SHAPE_CLASS_H
#define CVY_SHAPE_CLASS_H

#include "conv/problem.h"

#define CVY_CLASS_TEXT 96

/* One word without '|', such as "forward_r2_c5_k6_in0,6,6_small_s1_grouped_pad_sum":
 *   direction and rank; log2 buckets (0: 1, 1: 2, 2: 3..4, 3: 5..8) of the channels per group on
 *   both sides and of the input's extents; the filter's kind (point, small: no extent above 3,
 *   large); the largest stride's kind (s1, s2, s3 for all above); then, where they apply, dil
 *   (dilation), grouped or depthwise, pad (padding), sum (adds to what is there), act (bias or
 *   activation).
 * The batch is left out: it repeats the same work. */
void cvy_shape_class(const cvy_problem *problem, char *text, size_t size);

/* For people and files a class is one of its problems, as a line of the grammar, and behind it,
 * after a comma and a blank, what the grammar has no words for: "n1c3w9 k4s3 pad1 forward, with
 * bias or activation". */
#define CVY_EXAMPLE_TEXT (CONVOY_PROBLEM_TEXT + 64)
void cvy_class_example(const cvy_problem *problem, char *text, size_t size);
/* The class of such a text; false if it is none that cvy_class_example writes. */
bool cvy_class_of_example(const char *text, char *shape_class, size_t size);

#endif
