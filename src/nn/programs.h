/* The programs that compositions are made of, parsed once in a process. */
#ifndef CVY_NN_PROGRAMS_H
#define CVY_NN_PROGRAMS_H

#include "problem/program/bind.h"

/* In the order of convoy_reduction: a loss is the mean or the sum of its elements, or all of them.
 */
enum { CVY_NN_MEAN, CVY_NN_SUM, CVY_NN_EACH, CVY_NN_REDUCTIONS };

typedef enum cvy_nn_program {
  /* Normalising. */
  CVY_NN_STATISTICS,
  CVY_NN_NORMALISE_NUMBERS,
  CVY_NN_NORMALISE,
  CVY_NN_RUNNING,
  CVY_NN_ROW_STATISTICS,
  CVY_NN_ROW_DEVIATION,
  CVY_NN_NORMALISE_ROWS,

  /* Softmax over c. */
  CVY_NN_MAXIMUM,
  CVY_NN_EXPONENTIALS,
  CVY_NN_SOFTMAX,
  CVY_NN_LOG_SOFTMAX,

  /* Cross entropy: sums over the classes, of which the variants have more; of each place; mean. */
  CVY_NN_LABELS,
  CVY_NN_LABELS_WEIGHTED,
  CVY_NN_LABELS_SMOOTHED,
  CVY_NN_LABELS_BOTH,
  CVY_NN_CROSS_ENTROPY,
  CVY_NN_TOTALS,
  CVY_NN_QUOTIENT,
  CVY_NN_TOTAL,

  /* Losses of elements; behind each its sum and all of them. */
  CVY_NN_BCE,
  CVY_NN_SQUARED_ERROR = CVY_NN_BCE + CVY_NN_REDUCTIONS,
  CVY_NN_SMOOTH_L1 = CVY_NN_SQUARED_ERROR + CVY_NN_REDUCTIONS,
  CVY_NN_L1 = CVY_NN_SMOOTH_L1 + CVY_NN_REDUCTIONS,

  CVY_NN_DROPOUT = CVY_NN_L1 + CVY_NN_REDUCTIONS,

  /* Optimizers. */
  CVY_NN_SGD,
  CVY_NN_MOMENTUM,
  CVY_NN_NESTEROV,
  CVY_NN_SGD_NUMBERS,
  CVY_NN_ADAM,
  CVY_NN_ADAMW,
  CVY_NN_ADAM_NUMBERS,
  CVY_NN_AVERAGE,
  CVY_NN_SQUARES,
  CVY_NN_ADD_UP,
  CVY_NN_ROOT,
  CVY_NN_CLIP_FACTOR,
  CVY_NN_SCALE,

  CVY_NN_PROGRAMS
} cvy_nn_program;

const convoy_program *cvy_nn_program_of(cvy_nn_program which);

#endif
