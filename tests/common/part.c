/* See part.h. */
#include "common/part.h"

#include <string.h>

#define MARK UINT32_C(0x7fd0beef)
enum { BEHIND = 21 /* elements of the tensor behind the part's last */ };

int64_t test_part_pitch(int64_t image, int aligned) {
  int64_t unit = INT64_C(1) << aligned, pitch = (image + 5 * unit) / unit;
  return (pitch | 1) * unit;
}

int64_t test_part_offset(int aligned) {
  return INT64_C(7) << aligned;
}

static void mark(float *values, int64_t count) {
  const uint32_t bits = MARK;
  for (int64_t i = 0; i < count; i++) memcpy(&values[i], &bits, sizeof bits);
}

static bool is_marked(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    if (bits != MARK) return false;
  }
  return true;
}

test_part test_part_new(int64_t images, int64_t image, int64_t pitch, int64_t offset) {
  test_part part = {.images = images, .image = image, .pitch = pitch ? pitch : image};
  int64_t reach = images > 0 ? (images - 1) * part.pitch + image : 0;
  part.all = test_array_new(pitch ? offset + reach + BEHIND : reach);
  part.begin = part.all.values + (pitch ? offset : 0);
  mark(part.all.values, part.all.count);
  return part;
}

void test_part_free(test_part *part) {
  test_array_free(&part->all);
}

void test_part_put(test_part *part, const float *values) {
  for (int64_t i = 0; i < part->images; i++)
    memcpy(part->begin + i * part->pitch, values + i * part->image,
           (size_t)part->image * sizeof *values);
}

void test_part_get(const test_part *part, float *values) {
  for (int64_t i = 0; i < part->images; i++)
    memcpy(values + i * part->image, part->begin + i * part->pitch,
           (size_t)part->image * sizeof *values);
}

bool test_part_intact(const test_part *part) {
  const float *at = part->all.values, *end = part->all.values + part->all.count;
  for (int64_t i = 0; i < part->images; i++) {
    const float *image = part->begin + i * part->pitch;
    if (!is_marked(at, image - at)) return false;
    at = image + part->image;
  }
  return is_marked(at, end - at) && test_array_intact(&part->all);
}

bool test_part_holds(const test_part *part, const float *values) {
  for (int64_t i = 0; i < part->images; i++)
    if (memcmp(part->begin + i * part->pitch, values + i * part->image,
               (size_t)part->image * sizeof *values) != 0)
      return false;
  return test_part_intact(part);
}
