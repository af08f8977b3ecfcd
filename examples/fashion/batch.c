#include "batch.h"

/* Mean and deviation of the 60,000 training images, pixels scaled to 0 .. 1. */
#define PIXEL_MEAN 0.2860f
#define PIXEL_DEVIATION 0.3530f

static float normal(uint8_t pixel) {
  return ((float)pixel / 255.0f - PIXEL_MEAN) / PIXEL_DEVIATION;
}

static void copy_mirrored(const uint8_t *pixels, float *x) {
  for (int h = 0; h < IMAGE_SIDE; h++) {
    const uint8_t *row = pixels + h * IMAGE_SIDE;
    for (int w = 0; w < IMAGE_SIDE; w++) *x++ = normal(row[IMAGE_SIDE - 1 - w]);
  }
}

static void copy_plain(const uint8_t *pixels, int64_t count, float *x) {
  for (int64_t i = 0; i < count; i++) x[i] = normal(pixels[i]);
}

void batch_draw(const struct image_set *set, const int32_t *order, int64_t count,
                struct random_state *random, float *x, uint8_t *labels) {
  for (int64_t i = 0; i < count; i++) {
    const uint8_t *pixels = set->pixels + (int64_t)order[i] * IMAGE_PIXELS;
    bool mirror = random_uniform(random) < 0.5;
    if (mirror) {
      copy_mirrored(pixels, x + i * IMAGE_PIXELS);
    } else {
      copy_plain(pixels, IMAGE_PIXELS, x + i * IMAGE_PIXELS);
    }
    labels[i] = set->labels[order[i]];
  }
}

void batch_take(const struct image_set *set, int64_t first, int64_t count, float *x) {
  copy_plain(set->pixels + first * IMAGE_PIXELS, count * IMAGE_PIXELS, x);
}
