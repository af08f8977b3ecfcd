/* Pictures of any size become squares of one. */
#ifndef IMAGES_SQUARE_H
#define IMAGES_SQUARE_H

#include "images/decode.h"

/* The picture's middle, as wide as its shorter side, as [3][side][side]: each pixel the mean of the
 * area that it stands for, or between the nearest where the picture is smaller. */
bool square_of(const struct picture *picture, int side, uint8_t *out);

/* Part of a square [3][side][side] as [3][size][size], mirrored or not. */
void square_crop(const uint8_t *square, int side, int top, int left, int size, bool mirrored,
                 uint8_t *out);

#endif
