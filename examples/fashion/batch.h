/* Batches of a set's images, for a lesson. */
#ifndef FASHION_BATCH_H
#define FASHION_BATCH_H

#include "common/random.h"
#include "fashion/idx.h"

/* The training and the test set. */
struct fashion_images {
  struct image_set training, test;
};

/* Images order[0 .. count - 1] of the training set, each mirrored with probability 1/2, and their
 * labels. */
bool batch_draw(const void *images, const int32_t *order, int64_t count,
                struct random_state *random, uint8_t *pixels, int32_t *labels);
/* Images of the test set, from `first` on. */
bool batch_test(const void *images, int64_t first, int64_t count, uint8_t *pixels, int32_t *labels);

#endif
