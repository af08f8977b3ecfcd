/* See table.h. */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 14 /* behind name and count */

enum { N, C, H, W, K, R, S, STRIDE_H, STRIDE_W, PAD_H, PAD_W, DIL_H, DIL_W, GROUPS };

static bool read_numbers(const char *line, int64_t *v) {
  const char *at = strchr(line, ',');
  at = at != NULL ? strchr(at + 1, ',') : NULL;
  for (int i = 0; i < COLUMNS; i++) {
    char *end = NULL;
    if (at == NULL || at[0] != ',') return false;
    v[i] = strtoll(at + 1, &end, 10);
    if (end == at + 1) return false;
    at = end;
  }
  return true;
}

static bool make_layer(const int64_t *v, test_case *out) {
  test_case c = {.conv = CONVOY_CONV_INIT(2)};
  const int64_t x[] = {1, v[C], v[H], v[W]}, w[] = {v[K], v[C] / v[GROUPS], v[R], v[S]};
  memcpy(c.x_shape, x, sizeof x);
  memcpy(c.w_shape, w, sizeof w);
  c.conv.groups = v[GROUPS];
  for (int a = 0; a < 2; a++) {
    c.conv.stride[a] = v[STRIDE_H + a];
    c.conv.pad_begin[a] = c.conv.pad_end[a] = v[PAD_H + a];
    c.conv.dilation[a] = v[DIL_H + a];
  }
  *out = c;
  return convoy_output_shape(&c.conv, c.x_shape, c.w_shape, out->y_shape) == CONVOY_OK;
}

static int read_lines(FILE *file, const char *path, int step, test_case **out) {
  char line[512];
  int64_t values[COLUMNS];
  int count = 0;
  for (int number = 0; fgets(line, sizeof line, file) != NULL; number++) {
    if (number == 0 || (number - 1) % step != 0) continue; /* line 0 names the columns */
    test_case *grown = realloc(*out, (size_t)(count + 1) * sizeof **out);
    if (grown == NULL) return -1;
    *out = grown;
    if (!read_numbers(line, values) || !make_layer(values, &grown[count])) {
      fprintf(stderr, "%s:%d: not a layer (%s)\n", path, number + 1, convoy_last_error());
      return -1;
    }
    count++;
  }
  return count;
}

int table_read(const char *path, int step, test_case **out) {
  FILE *file = fopen(path, "r");
  *out = NULL;
  if (file == NULL) {
    perror(path);
    return -1;
  }
  const int count = read_lines(file, path, step, out);
  fclose(file);
  if (count < 0) {
    free(*out);
    *out = NULL;
  }
  return count;
}
