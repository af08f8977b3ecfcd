/* See case.h. */
#include "common/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t test_count(const int64_t *shape, int32_t rank) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank + 2; i++) count *= shape[i];
  return count;
}

bool test_case_parse(const char *text, test_case *out) {
  test_case c = {0};
  if (convoy_parse_problem(text, &c.conv, c.x_shape, c.w_shape, &c.direction) != CONVOY_OK ||
      convoy_output_shape(&c.conv, c.x_shape, c.w_shape, c.y_shape) != CONVOY_OK) {
    fprintf(stderr, "'%s': %s\n", text, convoy_last_error());
    return false;
  }
  *out = c;
  return true;
}

void test_case_text(const test_case *problem, convoy_direction direction, char *text, size_t size) {
  if (convoy_format_problem(&problem->conv, problem->x_shape, problem->w_shape, direction, text,
                            size) != CONVOY_OK)
    snprintf(text, size, "(%s)", convoy_last_error());
}

static bool is_problem(char *line) {
  line[strcspn(line, "\r\n")] = '\0';
  return line[0] != '\0' && line[0] != '#';
}

static int read_lines(FILE *file, const char *path, test_case **out) {
  char line[512];
  int count = 0;
  for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
    if (!is_problem(line)) continue;
    test_case *grown = realloc(*out, (size_t)(count + 1) * sizeof **out);
    if (grown == NULL) return -1;
    *out = grown;
    if (!test_case_parse(line, &grown[count])) {
      fprintf(stderr, "%s:%d: not a problem\n", path, number);
      return -1;
    }
    count++;
  }
  return count;
}

int test_cases_read(const char *path, test_case **out) {
  *out = NULL;
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    return -1;
  }
  const int count = read_lines(file, path, out);
  fclose(file);
  if (count < 0) {
    free(*out);
    *out = NULL;
  }
  return count;
}

const char *test_direction_name(convoy_direction direction) {
  static const char *const names[CONVOY_DIRECTIONS] = {"forward", "backward_data",
                                                       "backward_weights", "backward_bias"};
  return names[direction];
}
