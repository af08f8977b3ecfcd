/* The training: epochs, evaluation, checkpoints, and stopping in between without losing anything. */
#ifndef FASHION_TRAIN_H
#define FASHION_TRAIN_H

#include "checkpoint.h"
#include "idx.h"
#include "options.h"

/* Trains by options->plan, from the beginning or, if `from` is not NULL, from where that stands.
 * Returns the program's exit status. */
int train(const struct options *options, const struct checkpoint *from,
          const struct image_set *training, const struct image_set *test);

#endif
