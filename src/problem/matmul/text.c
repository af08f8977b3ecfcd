/* Products as text, both ways. The grammar stands in the public header at convoy_parse_matmul. */
#include <errno.h>
#include <stdlib.h>

#include "problem/matmul/matmul.h"

/* ----------------------------------------------------------------------------------- writing */

static void add_side(cvy_text *text, char name, const int64_t *extents, int dims, bool transposed) {
  cvy_text_add(text, " %c", name);
  for (int i = 0; i < dims; i++) cvy_text_add(text, "%s%lld", i ? "x" : "", (long long)extents[i]);
  if (transposed) cvy_text_add(text, "t");
}

/* Of rows by columns as they are multiplied. */
static void add_matrix(cvy_text *text, char name, int64_t batch, int64_t rows, int64_t columns,
                       bool transposed) {
  const int64_t extents[] = {batch, transposed ? columns : rows, transposed ? rows : columns};
  int none = batch == 1;
  add_side(text, name, extents + none, 3 - none, transposed);
}

void cvy_matmul_print(const cvy_problem *problem, char *text, size_t size) {
  const cvy_matmul_problem p = cvy_matmul_folded(problem);
  cvy_text to = cvy_text_in(text, size);
  cvy_text_add(&to, "matmul");
  add_matrix(&to, 'a', p.a_shared ? 1 : p.batch, p.m, p.k, p.a_transposed);
  add_matrix(&to, 'b', p.b_shared ? 1 : p.batch, p.k, p.n, p.b_transposed);
  if (p.summed) cvy_text_add(&to, " sum");
  cvy_array_view_print(&p.a, "a", &to);
  cvy_array_view_print(&p.b, "b", &to);
  cvy_array_view_print(&p.y, "y", &to);
}

bool cvy_matmul_readable(const cvy_problem *problem) {
  cvy_problem apart, counted;
  cvy_problem_apart(problem, &apart);
  if (cvy_problem_equal(problem, &apart) || cvy_matmul_folded(problem).batch != 1) return true;
  cvy_problem_copy(&counted, &apart);
  cvy_matmul_unfold(&counted);
  return cvy_problem_equal(&apart, &counted);
}

/* ----------------------------------------------------------------------------------- reading */

static convoy_status wrong(const char *at, const char *expected) {
  return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text, at \"%.24s\": expected %s", at, expected);
}

static bool take(const char **at, const char *word) {
  size_t length = strlen(word);
  if (strncmp(*at, word, length) != 0) return false;
  *at += length;
  return true;
}

static convoy_status take_extent(const char **at, cvy_shape *shape) {
  char *end;
  errno = 0;
  if (!cvy_is_digit(**at)) return wrong(*at, "a number");
  if (shape->dims == 3) return wrong(*at, "no more than 3 extents");
  shape->extent[shape->dims++] = strtoll(*at, &end, 10);
  if (errno) return wrong(*at, "a number below 2^63");
  *at = end;
  return CONVOY_OK;
}

static convoy_status take_side(const char **at, const char *name, uint32_t transposed,
                               uint32_t *flags, cvy_shape *shape) {
  *shape = (cvy_shape){CONVOY_FLOAT32, 0, {1, 1, 1, 1, 1}};
  if (!take(at, name)) return wrong(*at, name);
  do {
    convoy_status status = take_extent(at, shape);
    if (status) return status;
  } while (take(at, "x"));
  if (take(at, "t")) *flags |= transposed;
  return CONVOY_OK;
}

convoy_status cvy_matmul_read(const char *text, uint32_t *flags, cvy_shape *a, cvy_shape *b,
                              cvy_shape *y, cvy_problem *out) {
  const char *at = text;
  *flags = 0;
  if (!take(&at, "matmul")) return wrong(at, "matmul");
  convoy_status status = take_side(&at, " a", CONVOY_MATMUL_TRANSPOSE_A, flags, a);
  if (!status) status = take_side(&at, " b", CONVOY_MATMUL_TRANSPOSE_B, flags, b);
  if (status) return status;
  if (take(&at, " sum")) *flags |= CONVOY_MATMUL_SUM;
  if (*at) return wrong(at, "\" sum\" or the end");
  return cvy_matmul_make(*flags, a, b, out, y);
}

/* Sets views, as they are of the images of the batch that is written, or of those that are
 * counted. */
static bool set_views(uint32_t flags, const cvy_shape *a, const cvy_shape *b,
                      const cvy_array_view *views, cvy_problem *out) {
  cvy_problem written;
  cvy_matmul_as_written(flags, a, b, &written);
  bool has_batch = written.matmul.batch != 1;
  if (has_batch) cvy_problem_copy(out, &written);
  out->matmul.a = views[0];
  out->matmul.b = views[1];
  out->matmul.y = views[2];
  if (has_batch) cvy_matmul_unfold(out);
  return cvy_matmul_legal(out);
}

bool cvy_matmul_parse(const char *text, cvy_problem *out) {
  static const char *const names[] = {"a", "b", "y"};
  char line[CVY_EXAMPLE_TEXT];
  uint32_t flags;
  cvy_shape a, b, y;
  cvy_array_view views[CVY_COUNT(names)];
  cvy_text_copy(line, sizeof line, text);
  char *end = strstr(line, ", ");
  const char *rest = end ? end : "";
  for (size_t i = 0; i < CVY_COUNT(names); i++)
    if (!cvy_array_view_parse(&rest, names[i], &views[i])) return false;
  if (*rest) return false;
  if (end) *end = '\0';
  if (cvy_matmul_read(line, &flags, &a, &b, &y, out)) return false;
  return !end || set_views(flags, &a, &b, views, out);
}
