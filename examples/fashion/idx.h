/* Reads the gzipped IDX files in which MNIST and Fashion-MNIST are distributed. */
#ifndef FASHION_IDX_H
#define FASHION_IDX_H

#include <stdbool.h>
#include <stdint.h>

#define IMAGE_SIDE 28
#define IMAGE_PIXELS (IMAGE_SIDE * IMAGE_SIDE)
#define CLASSES 10

struct image_set {
  int64_t count;
  uint8_t *pixels; /* [count][IMAGE_SIDE][IMAGE_SIDE] */
  uint8_t *labels; /* [count], each below CLASSES */
};

/* Reads <folder>/<name>-images-idx3-ubyte.gz and its labels; keeps the first `limit` images, all of
 * them if limit is 0. On failure prints a sentence and returns false. */
bool image_set_read(struct image_set *set, const char *folder, const char *name, int64_t limit);
void image_set_free(struct image_set *set);

#endif
