#include "images/square.h"

#include <math.h>
#include <stdlib.h>

/* Which elements of a line a new one is made of, and how much of each. */
struct taps {
  int first, count;
  float *weight;
};

/* A triangle around the new element's middle, as wide as the new elements are apart but at least as
 * the old ones are: what is made smaller is averaged, what is made larger is interpolated. */
static void find_taps(int from, int to, int i, struct taps *taps) {
  double scale = (double)from / to, reach = fmax(scale, 1.0), middle = (i + 0.5) * scale - 0.5;
  int first = (int)ceil(middle - reach), last = (int)floor(middle + reach);
  double sum = 0.0;
  if (first < 0) first = 0;
  if (last > from - 1) last = from - 1;
  taps->first = first;
  taps->count = last - first + 1;
  for (int k = first; k <= last; k++) {
    double weight = fmax(0.0, 1.0 - fabs(k - middle) / reach);
    taps->weight[k - first] = (float)weight;
    sum += weight;
  }
  for (int k = 0; k < taps->count; k++) taps->weight[k] /= (float)sum;
}

/* All of a line's; `weights` has `room` numbers for each. */
static void find_all(int from, int to, struct taps *taps, float *weights, int room) {
  for (int i = 0; i < to; i++) {
    taps[i].weight = weights + (size_t)i * (size_t)room;
    find_taps(from, to, i, &taps[i]);
  }
}

/* A row of the middle, scaled along it, each colour by itself: to[3][side]. */
static void scale_row(const uint8_t *row, const struct taps *taps, int side, float *to) {
  for (int colour = 0; colour < 3; colour++) {
    for (int i = 0; i < side; i++) {
      const uint8_t *from = row + 3 * taps[i].first + colour;
      float sum = 0.0f;
      for (int k = 0; k < taps[i].count; k++) sum += taps[i].weight[k] * (float)from[3 * k];
      *to++ = sum;
    }
  }
}

/* From rows[extent][3][side]. */
static void scale_columns(const float *rows, const struct taps *taps, int side, uint8_t *out) {
  for (int colour = 0; colour < 3; colour++) {
    for (int i = 0; i < side; i++) {
      for (int w = 0; w < side; w++) {
        float sum = 0.5f;
        for (int k = 0; k < taps[i].count; k++)
          sum +=
              taps[i].weight[k] *
              rows[((size_t)(taps[i].first + k) * 3 + (size_t)colour) * (size_t)side + (size_t)w];
        *out++ = (uint8_t)fminf(sum, 255.0f);
      }
    }
  }
}

bool square_of(const struct picture *picture, int side, uint8_t *out) {
  int extent = picture->width < picture->height ? picture->width : picture->height;
  int top = (picture->height - extent) / 2, left = (picture->width - extent) / 2;
  int room = 2 * (extent / side + 2) + 1;
  struct taps *taps = malloc((size_t)side * sizeof *taps);
  float *weights = malloc((size_t)side * (size_t)room * sizeof *weights);
  float *rows = malloc((size_t)extent * 3 * (size_t)side * sizeof *rows);
  bool good = taps && weights && rows;
  if (good) {
    find_all(extent, side, taps, weights, room);
    for (int h = 0; h < extent; h++)
      scale_row(picture->pixels + ((size_t)(top + h) * (size_t)picture->width + (size_t)left) * 3,
                taps, side, rows + (size_t)h * 3 * (size_t)side);
    scale_columns(rows, taps, side, out);
  }
  free(taps);
  free(weights);
  free(rows);
  return good;
}

void square_crop(const uint8_t *square, int side, int top, int left, int size, bool mirrored,
                 uint8_t *out) {
  for (int colour = 0; colour < 3; colour++) {
    for (int h = 0; h < size; h++) {
      const uint8_t *row = square +
                           ((size_t)colour * (size_t)side + (size_t)(top + h)) * (size_t)side +
                           (size_t)left;
      for (int w = 0; w < size; w++) *out++ = row[mirrored ? size - 1 - w : w];
    }
  }
}
