/* Draws a batch of a set's images. */
#ifndef FASHION_BATCH_H
#define FASHION_BATCH_H

#include "idx.h"
#include "random.h"

/* Images order[0 .. count - 1], each mirrored with probability 1/2, and their labels. */
void batch_draw(const struct image_set *set, const int32_t *order, int64_t count,
                struct random_state *random, uint8_t *pixels, uint8_t *labels);

#endif
