/* What problems of the family of moves say (problem/move/move.h). */
#ifndef CVY_MOVE_ATTRIBUTES_H
#define CVY_MOVE_ATTRIBUTES_H

#include <stdint.h>

enum { CVY_MOVE_AXES = 8 }; /* of a copy */

/* y has the axes in the order of memory. Along each, element k of `count` goes to place begin +
 * step k, and is taken from x at `offset` + stride k, summed over the axes. What is left of y is
 * `fill`. Where there is nothing to choose, the numbers are these: step 1 and stride 0 of a count
 * of 0 or 1; where any count is 0, count, begin and offset 0; all 0 behind the axes. */
typedef struct cvy_move_copy {
  int32_t axes;
  int32_t dtype; /* of x */
  float fill;
  int32_t reserved; /* 0 */
  int64_t elements; /* of x */
  int64_t offset;
  int64_t extent[CVY_MOVE_AXES], count[CVY_MOVE_AXES], begin[CVY_MOVE_AXES], step[CVY_MOVE_AXES],
      stride[CVY_MOVE_AXES];
} cvy_move_copy;

enum { CVY_MOVE_PARTS = 12 }; /* of a concatenation: as many as a problem has inputs */

/* y has `images`, each of which is one of every input's, one behind the other. */
typedef struct cvy_move_concatenate {
  int32_t parts;
  int32_t reserved; /* 0 */
  int64_t images;
  int64_t width[CVY_MOVE_PARTS]; /* elements of an image of each input; 0 behind the last */
  int32_t dtype[CVY_MOVE_PARTS]; /* likewise */
} cvy_move_concatenate;

typedef union cvy_move_problem {
  cvy_move_copy copy;
  cvy_move_concatenate concatenate;
} cvy_move_problem;

#endif
