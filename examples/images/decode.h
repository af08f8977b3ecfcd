/* Pictures from files: PNG by libpng, JPEG by libjpeg, as far as these were there at the build. */
#ifndef IMAGES_DECODE_H
#define IMAGES_DECODE_H

#include <stdbool.h>
#include <stdint.h>

struct picture {
  int width, height;
  uint8_t *pixels; /* [height][width][3], red first; by malloc */
};

/* Whether the file's first bytes are those of a format that is known here. */
bool decode_knows(const char *path);
/* On failure prints a sentence and returns false. */
bool decode_file(const char *path, struct picture *out);

#endif
