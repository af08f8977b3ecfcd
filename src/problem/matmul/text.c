/* Products as text, both ways. The grammar stands in the public header at convoy_parse_matmul. */
#include "problem/fields.h"
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

static void read_extent(cvy_reader *r, cvy_shape *shape) {
  if (!cvy_read_expected(r, cvy_is_digit(*r->at), "a number")) return;
  if (!cvy_read_expected(r, shape->dims < 3, "no more than 3 extents")) return;
  shape->extent[shape->dims++] = cvy_read_number(r);
}

/* Returns whether the side is transposed. */
static bool read_side(cvy_reader *r, const char *name, cvy_shape *shape) {
  *shape = (cvy_shape){CONVOY_FLOAT32, 0, {1, 1, 1, 1, 1}};
  cvy_read_expected(r, cvy_read_word(r, name), name);
  do {
    if (!r->fault) read_extent(r, shape);
  } while (cvy_read_word(r, "x"));
  return cvy_read_word(r, "t");
}

convoy_status cvy_matmul_read(const char *text, uint32_t *flags, cvy_shape *a, cvy_shape *b,
                              cvy_shape *y, cvy_problem *out) {
  cvy_reader r = {text, text, NULL};
  cvy_read_expected(&r, cvy_read_word(&r, "matmul"), "matmul");
  *flags = read_side(&r, " a", a) ? CONVOY_MATMUL_TRANSPOSE_A : 0;
  if (read_side(&r, " b", b)) *flags |= CONVOY_MATMUL_TRANSPOSE_B;
  if (cvy_read_word(&r, " sum")) *flags |= CONVOY_MATMUL_SUM;
  if (cvy_read_expected(&r, !*r.at, "\" sum\" or the end"))
    return cvy_matmul_make(*flags, a, b, out, y);
  return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text, at \"%.24s\": expected %s", r.at, r.fault);
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
  const char *rest = cvy_array_views_parse(text, line, sizeof line, names, CVY_COUNT(names), views);
  if (!rest || *rest || cvy_matmul_read(line, &flags, &a, &b, &y, out)) return false;
  return !strchr(text, ',') || set_views(flags, &a, &b, views, out);
}
