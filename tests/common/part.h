/* An array that is part of a larger tensor: some elements of each image. What lies between them is
 * NaN of a kind that no arithmetic makes: whoever reads it spoils a result, and whoever writes it
 * is found out. */
#ifndef TEST_PART_H
#define TEST_PART_H

#include "common/array.h"

typedef struct test_part {
  test_array all; /* the larger tensor */
  float *begin;   /* the part's first element */
  int64_t images, image, pitch;
} test_part;

/* How far a part is aligned, as a binary logarithm of elements, and no further: the pitch of images
 * of so many elements, and where the part begins in its tensor. */
int64_t test_part_pitch(int64_t image, int aligned);
int64_t test_part_offset(int aligned);

/* The part's own elements are NaN, too. Pitch 0: it has no gaps, and lies at the beginning. */
test_part test_part_new(int64_t images, int64_t image, int64_t pitch, int64_t offset);
void test_part_free(test_part *part);

/* The part's elements from and to an array of their own. */
void test_part_put(test_part *part, const float *values);
void test_part_get(const test_part *part, float *values);
/* Whether nothing was written beside the part; and nothing there either, where these values are. */
bool test_part_intact(const test_part *part);
bool test_part_holds(const test_part *part, const float *values);

#endif
