#include "images/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/square.h"

static size_t square_bytes(const struct picture_book *book) {
  return 3 * (size_t)book->side * (size_t)book->side;
}

static bool open_squares(struct squares *squares, const struct image_files *files) {
  *squares = (struct squares){files, calloc((size_t)files->count, sizeof(uint8_t *))};
  return squares->kept != NULL;
}

bool picture_book_open(struct picture_book *book, const struct image_folder *folder, int size,
                       int64_t room) {
  *book = (struct picture_book){.size = size, .side = size + size / 8, .room = room};
  book->spare = malloc(square_bytes(book));
  return book->spare && open_squares(&book->training, &folder->training) &&
         open_squares(&book->test, &folder->test);
}

static void close_squares(struct squares *squares) {
  for (int64_t i = 0; squares->kept && i < squares->files->count; i++) free(squares->kept[i]);
  free(squares->kept);
}

void picture_book_close(struct picture_book *book) {
  close_squares(&book->training);
  close_squares(&book->test);
  free(book->spare);
}

static void decode(const struct picture_book *book, const char *path, uint8_t *square) {
  struct picture picture;
  bool read = decode_file(path, &picture);
  if (!read || !square_of(&picture, book->side, square)) memset(square, 128, square_bytes(book));
  if (read) free(picture.pixels);
}

/* Valid until the next. */
static const uint8_t *find_square(struct picture_book *book, struct squares *squares, int64_t i) {
  int64_t bytes = (int64_t)square_bytes(book);
  if (squares->kept[i]) return squares->kept[i];
  uint8_t *square = book->room >= bytes ? malloc((size_t)bytes) : NULL;
  decode(book, squares->files->file[i].path, square ? square : book->spare);
  if (!square) return book->spare;
  book->room -= bytes;
  return squares->kept[i] = square;
}

bool picture_book_draw(const void *of, const int32_t *order, int64_t count,
                       struct random_state *random, uint8_t *pixels, int32_t *labels) {
  struct picture_book *book = (struct picture_book *)(uintptr_t)of; /* what it keeps changes */
  int choices = book->side - book->size + 1;
  for (int64_t i = 0; i < count; i++) {
    const uint8_t *square = find_square(book, &book->training, order[i]);
    int top = (int)(random_uniform(random) * choices),
        left = (int)(random_uniform(random) * choices);
    bool mirrored = random_uniform(random) < 0.5;
    square_crop(square, book->side, top, left, book->size, mirrored, pixels);
    pixels += 3 * book->size * book->size;
    labels[i] = book->training.files->file[order[i]].label;
  }
  return true;
}

bool picture_book_test(const void *of, int64_t first, int64_t count, uint8_t *pixels,
                       int32_t *labels) {
  struct picture_book *book = (struct picture_book *)(uintptr_t)of;
  int middle = (book->side - book->size) / 2;
  for (int64_t i = 0; i < count; i++) {
    const uint8_t *square = find_square(book, &book->test, first + i);
    square_crop(square, book->side, middle, middle, book->size, false, pixels);
    pixels += 3 * book->size * book->size;
    labels[i] = book->test.files->file[first + i].label;
  }
  return true;
}
