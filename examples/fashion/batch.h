/* Turns images of a set into the network's input. */
#ifndef FASHION_BATCH_H
#define FASHION_BATCH_H

#include "idx.h"
#include "random.h"

/* Images order[0 .. count - 1], normalised, each mirrored with probability 1/2; and their labels. */
void batch_draw(const struct image_set *set, const int32_t *order, int64_t count,
                struct random_state *random, float *x, uint8_t *labels);

/* Images first .. first + count - 1, normalised. */
void batch_take(const struct image_set *set, int64_t first, int64_t count, float *x);

#endif
