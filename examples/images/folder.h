/* A folder of images: each folder in it is a class, whose name it has. */
#ifndef IMAGES_FOLDER_H
#define IMAGES_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

struct image_file {
  char *path;
  int32_t label; /* the class's place in the order of names */
};

struct image_files {
  struct image_file *file;
  int64_t count;
};

struct image_folder {
  char **classes; /* in the order of their names' bytes */
  int32_t class_count;
  /* Of each class every so many-th image, in the order of names, is for tests. */
  struct image_files training, test;
};

/* Prints a sentence and returns false if there are not two classes, or no image for either set.
 * `limit` is for each set, 0: no limit; what is neither PNG nor JPEG is left out. */
bool image_folder_read(struct image_folder *folder, const char *path, int64_t every, int64_t limit);
void image_folder_free(struct image_folder *folder);

#endif
