#include "batch.h"

#include <string.h>

static void copy_mirrored(const uint8_t *from, uint8_t *to) {
  for (int h = 0; h < IMAGE_SIDE; h++) {
    const uint8_t *row = from + h * IMAGE_SIDE;
    for (int w = 0; w < IMAGE_SIDE; w++) *to++ = row[IMAGE_SIDE - 1 - w];
  }
}

void batch_draw(const struct image_set *set, const int32_t *order, int64_t count,
                struct random_state *random, uint8_t *pixels, uint8_t *labels) {
  for (int64_t i = 0; i < count; i++) {
    const uint8_t *from = set->pixels + (int64_t)order[i] * IMAGE_PIXELS;
    uint8_t *to = pixels + i * IMAGE_PIXELS;
    if (random_uniform(random) < 0.5) {
      copy_mirrored(from, to);
    } else {
      memcpy(to, from, IMAGE_PIXELS);
    }
    labels[i] = set->labels[order[i]];
  }
}
