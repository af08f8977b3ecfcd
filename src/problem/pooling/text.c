/* Pooling as text, both ways. The grammar stands in the public header at convoy_parse_pool. */
#include "problem/axes_text.h"
#include "problem/pooling/pooling.h"

static const int32_t operations[CONVOY_POOLS] = {
    [CONVOY_MAX_POOL] = CVY_POOLING_MAX,
    [CONVOY_MAX_POOL_BACKWARD] = CVY_POOLING_MAX_BACKWARD,
    [CONVOY_AVERAGE_POOL] = CVY_POOLING_AVERAGE,
    [CONVOY_AVERAGE_POOL_BACKWARD] = CVY_POOLING_AVERAGE_BACKWARD,
};

void cvy_pooling_print(const cvy_problem *problem, char *text, size_t size) {
  convoy_window w;
  int64_t x[CONVOY_MAX_DIMS];
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text to = cvy_text_in(line, sizeof line);
  cvy_pooling_spell(problem, &w, x);
  cvy_text_add(&to, "%s n%lldc%lld", cvy_operation_of(problem)->name, (long long)x[0],
               (long long)x[1]);
  cvy_add_extents(&to, "zhw", x + 2, w.rank);
  cvy_text_add(&to, " ");
  cvy_add_extents(&to, "trs", w.extent, w.rank);
  cvy_text_add(&to, " ");
  cvy_add_axes(&to, "stride", w.stride, w.rank, 1);
  cvy_add_padding(&to, w.pad_begin, w.pad_end, w.rank);
  cvy_add_axes(&to, "dil", w.dilation, w.rank, 1);
  if (w.ceil_mode) cvy_text_add(&to, "ceil ");
  if (w.count_padding) cvy_text_add(&to, "count_padding ");
  line[--to.used] = '\0'; /* the blank */
  cvy_array_view_print(&problem->pooling.x, "x", &to);
  cvy_array_view_print(&problem->pooling.y, "y", &to);
  cvy_array_view_print(&problem->pooling.dx, "dx", &to);
  cvy_text_copy(text, size, to.overflow ? "?" : line);
}

/* The name, and a blank behind it. */
static bool take_name(cvy_reader *r, convoy_pool *what) {
  for (int i = 0; i < CONVOY_POOLS; i++) {
    const char *name = cvy_operations[operations[i]]->name;
    size_t length = strlen(name);
    if (strncmp(r->at, name, length) != 0 || r->at[length] != ' ') continue;
    *what = (convoy_pool)i;
    r->at += length + 1;
    return true;
  }
  return false;
}

static void read_window(cvy_reader *r, convoy_window *w) {
  static const char behind[] = "stride, pad, dil, ceil, count_padding in this order, or the end";
  cvy_read_filter(r, w->rank, w->extent);
  if (!r->fault && !*r->at) return;
  cvy_read_expected(r, cvy_read_word(r, " "), behind);
  cvy_read_axes(r, "stride", w->rank, w->stride, NULL, behind);
  cvy_read_axes(r, "pad", w->rank, w->pad_begin, w->pad_end, behind);
  cvy_read_axes(r, "dil", w->rank, w->dilation, NULL, behind);
  w->ceil_mode = cvy_read_word(r, "ceil ");
  w->count_padding = cvy_read_word(r, "count_padding ");
  cvy_read_expected(r, !*r->at, behind);
}

convoy_status cvy_pooling_read(const char *text, convoy_pool *what, convoy_window *window,
                               int64_t *x_shape, cvy_problem *out) {
  char line[CONVOY_PROBLEM_TEXT + 1];
  cvy_reader r = {line, line, NULL};
  convoy_window w = CONVOY_WINDOW_INIT(2);
  int64_t x[CONVOY_MAX_DIMS] = {1, 1, 1, 1, 1};
  size_t length = strlen(text);
  if (length + 1 >= sizeof line)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text of %zu bytes, at most %d", length,
                    CONVOY_PROBLEM_TEXT - 1);
  memcpy(line, text, length);
  line[length] = ' '; /* so that every word has a blank behind it */
  line[length + 1] = '\0';
  cvy_read_expected(&r, take_name(&r, what),
                    "max_pool, average_pool, or one of them with _backward");
  w.rank = cvy_read_maps(&r, x);
  read_window(&r, &w);
  if (r.fault) return cvy_read_failed(&r);
  convoy_status status = cvy_pooling_make(operations[*what], &w, x, out);
  if (status) return status;
  *window = w;
  memcpy(x_shape, x, sizeof x);
  return CONVOY_OK;
}

bool cvy_pooling_parse(const char *text, cvy_problem *out) {
  char line[CVY_EXAMPLE_TEXT];
  convoy_pool what;
  convoy_window window;
  int64_t x_shape[CONVOY_MAX_DIMS];
  cvy_array_view x, y, dx;
  cvy_text_copy(line, sizeof line, text);
  char *end = strstr(line, ", ");
  const char *rest = end ? end : "";
  if (!cvy_array_view_parse(&rest, "x", &x) || !cvy_array_view_parse(&rest, "y", &y)) return false;
  if (!cvy_array_view_parse(&rest, "dx", &dx) || *rest) return false;
  if (end) *end = '\0';
  if (cvy_pooling_read(line, &what, &window, x_shape, out)) return false;
  out->pooling.x = x;
  out->pooling.y = y;
  out->pooling.dx = dx;
  return cvy_problem_legal(out);
}
