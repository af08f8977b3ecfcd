/* Batches of a folder's images, for a lesson. Each is decoded when it is needed and kept as a
 * square a little larger than the network's input, as long as there is room. */
#ifndef IMAGES_BATCH_H
#define IMAGES_BATCH_H

#include "common/random.h"
#include "images/folder.h"

struct squares {
  const struct image_files *files;
  uint8_t **kept; /* a square for each file; NULL: not yet, or no room */
};

struct picture_book {
  int size, side; /* of the network's input, of squares */
  struct squares training, test;
  int64_t room; /* bytes for squares that may still be kept */
  uint8_t *spare;
};

bool picture_book_open(struct picture_book *book, const struct image_folder *folder, int size,
                       int64_t room);
void picture_book_close(struct picture_book *book);

/* Images order[0 .. count - 1] of the training set: a part of the network's size, chosen at random,
 * mirrored with probability 1/2. A file that cannot be read is grey: a run of days goes on. */
bool picture_book_draw(const void *book, const int32_t *order, int64_t count,
                       struct random_state *random, uint8_t *pixels, int32_t *labels);
/* The middle of images of the test set, from `first` on. */
bool picture_book_test(const void *book, int64_t first, int64_t count, uint8_t *pixels,
                       int32_t *labels);

#endif
