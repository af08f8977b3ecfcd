/* IDX: a big-endian magic number (type 8 = unsigned byte, number of extents), the extents, the
 * data. */
#include "fashion/idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define MAX_EXTENTS 3

static bool read_number(gzFile file, int64_t *value) {
  uint8_t bytes[4];
  if (gzread(file, bytes, 4) != 4) return false;
  *value = (int64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
  return true;
}

/* Returns the number of items in front of the file's data, or -1 if the header is not the expected
 * one: `dims` extents, all but the first equal to IMAGE_SIDE. */
static int64_t read_header(gzFile file, int dims) {
  int64_t magic, extents[MAX_EXTENTS];
  if (!read_number(file, &magic) || magic != 0x800 + dims) return -1;
  for (int i = 0; i < dims; i++) {
    if (!read_number(file, &extents[i])) return -1;
    if (i > 0 && extents[i] != IMAGE_SIDE) return -1;
  }
  return extents[0];
}

/* Reads the first `limit` items (0: all) of `size` bytes each. */
static uint8_t *read_items(gzFile file, int dims, unsigned size, int64_t limit, int64_t *count) {
  int64_t there = read_header(file, dims);
  *count = limit > 0 && limit < there ? limit : there;
  if (*count < 1 || *count > INT32_MAX / (int64_t)size) return NULL;
  unsigned bytes = (unsigned)*count * size;
  uint8_t *items = malloc(bytes);
  if (items && gzread(file, items, bytes) == (int)bytes) return items;
  free(items);
  return NULL;
}

static uint8_t *read_file(const char *folder, const char *name, const char *kind, int dims,
                          unsigned size, int64_t limit, int64_t *count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%s-idx%d-ubyte.gz", folder, name, kind, dims);
  gzFile file = gzopen(path, "rb");
  if (!file) {
    fprintf(stderr, "%s cannot be opened; --data names the folder with the four files\n", path);
    return NULL;
  }
  uint8_t *items = read_items(file, dims, size, limit, count);
  if (!items) fprintf(stderr, "%s is not a complete IDX file of %d extents\n", path, dims);
  gzclose(file);
  return items;
}

static bool labels_in_range(const struct image_set *set) {
  for (int64_t i = 0; i < set->count; i++) {
    if (set->labels[i] >= CLASSES) return false;
  }
  return true;
}

bool image_set_read(struct image_set *set, const char *folder, const char *name, int64_t limit) {
  int64_t labels = 0;
  *set = (struct image_set){0};
  set->pixels = read_file(folder, name, "images", 3, IMAGE_PIXELS, limit, &set->count);
  if (set->pixels) set->labels = read_file(folder, name, "labels", 1, 1, limit, &labels);
  if (!set->labels) {
    image_set_free(set);
    return false;
  }
  if (labels == set->count && labels_in_range(set)) return true;
  fprintf(stderr, "%s/%s: %lld images and %lld labels, which must be as many and below %d\n",
          folder, name, (long long)set->count, (long long)labels, CLASSES);
  image_set_free(set);
  return false;
}

void image_set_free(struct image_set *set) {
  free(set->pixels);
  free(set->labels);
  *set = (struct image_set){0};
}
