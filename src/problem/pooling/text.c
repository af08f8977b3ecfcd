/* Pooling as text, both ways. The grammar stands in the public header at convoy_parse_pool. */
#include "problem/fields.h"
#include "problem/pooling/pooling.h"

/* Calls are numbered like operations. */
_Static_assert(CVY_POOLING_AVERAGE_BACKWARD - CVY_POOLING_MAX == CONVOY_AVERAGE_POOL_BACKWARD, "");

static const char *const names[] = {
    [CONVOY_MAX_POOL] = "max_pool ",
    [CONVOY_MAX_POOL_BACKWARD] = "max_pool_backward ",
    [CONVOY_AVERAGE_POOL] = "average_pool ",
    [CONVOY_AVERAGE_POOL_BACKWARD] = "average_pool_backward ",
    [CONVOY_POOLS] = NULL,
};

/* What a text says. */
typedef struct pooling_words {
  int32_t what;
  convoy_window window;
  int64_t x[CONVOY_MAX_DIMS];
} pooling_words;

#define AT(member) offsetof(pooling_words, member)
static const char behind[] = "stride, pad, dil, ceil, count_padding in this order, or the end";
static const cvy_field rows[] = {
    {CVY_FIELD_CHOICE, .at = AT(what), .words = names,
     .expected = "max_pool, average_pool, or one of them with _backward"},
    {CVY_FIELD_MAPS, .at = AT(x)},
    {CVY_FIELD_EXTENTS, .word = "trs", .at = AT(window.extent),
     .expected = "t, r and s like z, h and w"},
    {CVY_FIELD_WORD, .word = " ", .expected = behind},
    {CVY_FIELD_AXES, .word = "stride", .at = AT(window.stride), .usual = 1, .expected = behind},
    {CVY_FIELD_SIDES, .word = "pad", .at = AT(window.pad_begin), .end = AT(window.pad_end),
     .expected = behind},
    {CVY_FIELD_AXES, .word = "dil", .at = AT(window.dilation), .usual = 1, .expected = behind},
    {CVY_FIELD_FLAG, .word = "ceil ", .at = AT(window.ceil_mode)},
    {CVY_FIELD_FLAG, .word = "count_padding ", .at = AT(window.count_padding)},
};
static const cvy_fields fields = {rows, CVY_COUNT(rows), AT(window.rank)};

void cvy_pooling_print(const cvy_problem *problem, char *text, size_t size) {
  pooling_words call = {.what = problem->operation - CVY_POOLING_MAX};
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text to = cvy_text_in(line, sizeof line);
  cvy_pooling_spell(problem, &call.window, call.x);
  cvy_fields_print(&fields, &call, &to);
  line[--to.used] = '\0'; /* the blank */
  cvy_array_view_print(&problem->pooling.x, "x", &to);
  cvy_array_view_print(&problem->pooling.y, "y", &to);
  cvy_array_view_print(&problem->pooling.dx, "dx", &to);
  cvy_text_copy(text, size, to.overflow ? "?" : line);
}

convoy_status cvy_pooling_read(const char *text, convoy_pool *what, convoy_window *window,
                               int64_t *x_shape, cvy_problem *out) {
  char line[CONVOY_PROBLEM_TEXT + 1];
  pooling_words call = {0, CONVOY_WINDOW_INIT(2), {1, 1, 1, 1, 1}};
  cvy_reader r;
  convoy_status status = cvy_read_begin(text, line, &r);
  if (status) return status;
  cvy_fields_read(&fields, &r, &call);
  if (!cvy_read_expected(&r, !*r.at, behind)) return cvy_read_failed(&r);
  *what = (convoy_pool)call.what;
  status = cvy_pooling_make(CVY_POOLING_MAX + call.what, &call.window, call.x, out);
  if (status) return status;
  *window = call.window;
  memcpy(x_shape, call.x, sizeof call.x);
  return CONVOY_OK;
}

bool cvy_pooling_parse(const char *text, cvy_problem *out) {
  static const char *const operands[] = {"x", "y", "dx"};
  char line[CVY_EXAMPLE_TEXT];
  convoy_pool what;
  convoy_window window;
  int64_t x_shape[CONVOY_MAX_DIMS];
  cvy_array_view views[CVY_COUNT(operands)];
  const char *rest =
      cvy_array_views_parse(text, line, sizeof line, operands, CVY_COUNT(operands), views);
  if (!rest || *rest || cvy_pooling_read(line, &what, &window, x_shape, out)) return false;
  out->pooling.x = views[0];
  out->pooling.y = views[1];
  out->pooling.dx = views[2];
  return cvy_problem_legal(out);
}
