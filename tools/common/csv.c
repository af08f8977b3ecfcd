/* Parses shape tables. */
#include "common/csv.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS = 16, LINE_MAX_BYTES = 1024, NAME_MAX_BYTES = 64 };

/* A line's numbers under the names of their columns. */
typedef struct numbers {
  int64_t count, n, c, h, w, k, r, s, stride[2], pad[2], dilation[2], groups;
} numbers;

typedef struct column {
  const char *name;
  size_t offset;
  int64_t least;
} column;

static const column columns[CELLS - 1] = {
    {"count", offsetof(numbers, count), 1},
    {"N", offsetof(numbers, n), 1},
    {"C", offsetof(numbers, c), 1},
    {"H", offsetof(numbers, h), 1},
    {"W", offsetof(numbers, w), 1},
    {"K", offsetof(numbers, k), 1},
    {"R", offsetof(numbers, r), 1},
    {"S", offsetof(numbers, s), 1},
    {"stride_h", offsetof(numbers, stride[0]), 1},
    {"stride_w", offsetof(numbers, stride[1]), 1},
    {"pad_h", offsetof(numbers, pad[0]), 0},
    {"pad_w", offsetof(numbers, pad[1]), 0},
    {"dil_h", offsetof(numbers, dilation[0]), 1},
    {"dil_w", offsetof(numbers, dilation[1]), 1},
    {"groups", offsetof(numbers, groups), 1},
};

/* Where the parser is, and where its complaint goes. */
typedef struct csv_reader {
  const char *path;
  int line;
  int order[CELLS]; /* cell -> row of `columns`, -1 for the name */
  char *why;
  size_t why_size;
} csv_reader;

static bool complain(const csv_reader *at, const char *what, const char *detail) {
  snprintf(at->why, at->why_size, "%s:%d: %s%s", at->path, at->line, what, detail);
  return false;
}

/* Splits at commas, in place. Returns the number of cells, which is more than CELLS if there are
 * too many. */
static int split(char *line, char *cells[CELLS]) {
  int count = 0;
  for (char *at = line; at; count++) {
    char *comma = strchr(at, ',');
    if (comma) *comma = 0;
    if (count < CELLS) cells[count] = at;
    at = comma ? comma + 1 : NULL;
  }
  return count;
}

static int column_find(const char *name) {
  for (int i = 0; i < CELLS - 1; i++)
    if (strcmp(columns[i].name, name) == 0) return i;
  return strcmp(name, "name") == 0 ? -1 : CELLS;
}

/* With as many cells as columns and none twice, none is missing. */
static bool read_head(csv_reader *at, char *line) {
  char *cells[CELLS];
  if (split(line, cells) != CELLS) return complain(at, "the first line must name 16 columns", "");
  bool seen[CELLS] = {false};
  for (int i = 0; i < CELLS; i++) {
    int which = column_find(cells[i]);
    if (which == CELLS) return complain(at, "unknown column ", cells[i]);
    if (seen[which + 1]) return complain(at, "column twice: ", cells[i]);
    seen[which + 1] = true;
    at->order[i] = which;
  }
  return true;
}

static bool read_name(const csv_reader *at, const char *cell, layer *out) {
  size_t length = strlen(cell);
  if (length == 0 || length >= NAME_MAX_BYTES) return complain(at, "bad layer name ", cell);
  memcpy(out->name, cell, length + 1);
  return true;
}

static bool read_number(const csv_reader *at, const char *cell, const column *about, numbers *out) {
  char *end = NULL;
  const long long value = strtoll(cell, &end, 10);
  if (end == cell || *end) return complain(at, about->name, " is not a whole number");
  if (value < about->least || value > INT32_MAX) return complain(at, about->name, " out of range");
  *(int64_t *)((char *)out + about->offset) = value;
  return true;
}

static void shape_from(const numbers *from, problem *out) {
  *out = (problem){.conv = CONVOY_CONV_INIT(2),
                   .x_shape = {from->n, from->c, from->h, from->w},
                   .w_shape = {from->k, from->c / from->groups, from->r, from->s}};
  out->conv.groups = from->groups;
  for (int axis = 0; axis < 2; axis++) {
    out->conv.stride[axis] = from->stride[axis];
    out->conv.pad_begin[axis] = out->conv.pad_end[axis] = from->pad[axis];
    out->conv.dilation[axis] = from->dilation[axis];
  }
}

static bool read_layer(const csv_reader *at, char *line, layer *out) {
  char *cells[CELLS];
  if (split(line, cells) != CELLS) return complain(at, "a line must have 16 cells", "");
  numbers values = {0};
  for (int i = 0; i < CELLS; i++) {
    int which = at->order[i];
    if (which < 0 ? !read_name(at, cells[i], out)
                  : !read_number(at, cells[i], &columns[which], &values))
      return false;
  }
  out->count = values.count;
  shape_from(&values, &out->shape);
  convoy_status status = convoy_output_shape(&out->shape.conv, out->shape.x_shape,
                                             out->shape.w_shape, out->shape.y_shape);
  return status == CONVOY_OK || complain(at, convoy_last_error(), "");
}

static bool append(layer_table *table, const layer *one) {
  layer *grown = realloc(table->layers, (size_t)(table->count + 1) * sizeof *grown);
  if (!grown) return false;
  table->layers = grown;
  grown[table->count++] = *one;
  return true;
}

static bool read_line(csv_reader *at, char *line, layer_table *out, bool *head_done) {
  if (!*head_done) {
    *head_done = true;
    return read_head(at, line);
  }
  layer one = {0};
  if (!read_layer(at, line, &one)) return false;
  return append(out, &one) || complain(at, "out of memory", "");
}

static bool read_all(FILE *from, csv_reader *at, layer_table *out) {
  char line[LINE_MAX_BYTES];
  bool head_done = false;
  while (fgets(line, sizeof line, from)) {
    at->line++;
    if (strlen(line) == sizeof line - 1) return complain(at, "the line is too long", "");
    line[strcspn(line, "\r\n")] = 0;
    if (line[0] == 0 || line[0] == '#') continue;
    if (!read_line(at, line, out, &head_done)) return false;
  }
  return out->count > 0 || complain(at, "no layer in the table", "");
}

static void name_from_path(const char *path, char *name, size_t size) {
  const char *slash = strrchr(path, '/');
  snprintf(name, size, "%s", slash ? slash + 1 : path);
  char *end = strrchr(name, '.');
  if (end && strcmp(end, ".csv") == 0) *end = 0;
}

bool csv_read(FILE *from, const char *path, layer_table *out, char *why, size_t why_size) {
  *out = (layer_table){0};
  name_from_path(path, out->name, sizeof out->name);
  csv_reader at = {.path = path, .why = why, .why_size = why_size};
  bool good = read_all(from, &at, out);
  if (!good) csv_free(out);
  return good;
}

void csv_free(layer_table *table) {
  free(table->layers);
  table->layers = NULL;
  table->count = 0;
}
