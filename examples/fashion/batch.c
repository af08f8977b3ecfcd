#include "fashion/batch.h"

#include <string.h>

static void copy_mirrored(const uint8_t *from, uint8_t *to) {
  for (int h = 0; h < IMAGE_SIDE; h++) {
    const uint8_t *row = from + h * IMAGE_SIDE;
    for (int w = 0; w < IMAGE_SIDE; w++) *to++ = row[IMAGE_SIDE - 1 - w];
  }
}

bool batch_draw(const void *images, const int32_t *order, int64_t count,
                struct random_state *random, uint8_t *pixels, int32_t *labels) {
  const struct image_set *set = &((const struct fashion_images *)images)->training;
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
  return true;
}

bool batch_test(const void *images, int64_t first, int64_t count, uint8_t *pixels,
                int32_t *labels) {
  const struct image_set *set = &((const struct fashion_images *)images)->test;
  memcpy(pixels, set->pixels + first * IMAGE_PIXELS, (size_t)(count * IMAGE_PIXELS));
  for (int64_t i = 0; i < count; i++) labels[i] = set->labels[first + i];
  return true;
}
