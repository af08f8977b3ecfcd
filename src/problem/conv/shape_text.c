/* Problems as text, both ways: the one grammar of logs, sentences, tools, tests and the files that
 * are kept. It stands in the public header at convoy_parse_problem. */
#include <string.h>

#include "problem/axes_text.h"
#include "problem/conv/conv.h"

typedef long long ll;

static const char *const direction_names[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = "forward",
    [CONVOY_BACKWARD_DATA] = "backward_data",
    [CONVOY_BACKWARD_WEIGHTS] = "backward_weights",
    [CONVOY_BACKWARD_BIAS] = "backward_bias",
};

/* ----------------------------------------------------------------------------------- reading */

static const char behind[] = "a space, and a direction at the end";

static void extents(cvy_reader *r, convoy_conv *conv, int64_t *x_shape, int64_t *w_shape,
                    int64_t *k) {
  conv->rank = cvy_read_maps(r, x_shape);
  *k = cvy_read_lettered(r, "k", "k");
  cvy_read_filter(r, conv->rank, w_shape + 2);
  cvy_read_expected(r, cvy_read_word(r, " "), behind);
}

static void options(cvy_reader *r, convoy_conv *conv) {
  cvy_read_axes(r, "stride", conv->rank, conv->stride, NULL, behind);
  cvy_read_axes(r, "pad", conv->rank, conv->pad_begin, conv->pad_end, behind);
  cvy_read_axes(r, "dil", conv->rank, conv->dilation, NULL, behind);
  cvy_read_axes(r, "groups", 1, &conv->groups, NULL, behind);
  conv->transposed = cvy_read_word(r, "transposed ");
  cvy_read_axes(r, "outpad", conv->rank, conv->output_padding, NULL, behind);
}

int32_t cvy_direction_named(const char *name) {
  for (int32_t d = 0; d < CONVOY_DIRECTIONS; d++)
    if (!strcmp(name, direction_names[d])) return d;
  return -1;
}

static convoy_direction direction_word(cvy_reader *r) {
  const int32_t direction = r->fault ? -1 : cvy_direction_named(r->at);
  cvy_read_expected(r, direction >= 0,
                    "forward, backward_data, backward_weights or backward_bias at the end");
  return direction < 0 ? CONVOY_FORWARD : (convoy_direction)direction;
}

/* C and K are the channels of x and y; w's first two extents follow from them and the groups. */
static bool weights_channels(const convoy_conv *conv, int64_t c, int64_t k, int64_t *w_shape) {
  int64_t first = conv->transposed ? c : k, second = conv->transposed ? k : c;
  if (conv->groups < 1 || c % conv->groups || k % conv->groups) return false;
  w_shape[0] = first;
  w_shape[1] = second / conv->groups;
  return true;
}

convoy_status cvy_parse_problem(const char *text, convoy_conv *conv, int64_t *x_shape,
                                int64_t *w_shape, convoy_direction *direction) {
  cvy_reader r = {text, text, NULL};
  convoy_conv c = CONVOY_CONV_INIT(2);
  int64_t x[CONVOY_MAX_DIMS] = {1, 1, 1, 1, 1}, w[CONVOY_MAX_DIMS] = {1, 1, 1, 1, 1},
          y[CONVOY_MAX_DIMS], k;
  extents(&r, &c, x, w, &k);
  options(&r, &c);
  convoy_direction d = direction_word(&r);
  if (r.fault) return cvy_read_failed(&r);
  if (!weights_channels(&c, x[1], k, w))
    return cvy_fail(CONVOY_ERR_SHAPE, "problem text: groups %lld do not divide c %lld and k %lld",
                    (ll)c.groups, (ll)x[1], (ll)k);
  convoy_status status = cvy_output_shape(&c, x, w, y);
  if (status) return status;
  *conv = c;
  memcpy(x_shape, x, sizeof x);
  memcpy(w_shape, w, sizeof w);
  *direction = d;
  return CONVOY_OK;
}

/* ----------------------------------------------------------------------------------- writing */

convoy_status cvy_format_problem(const convoy_conv *conv, const int64_t *x_shape,
                                 const int64_t *w_shape, convoy_direction direction, char *text,
                                 size_t size) {
  int64_t y[CONVOY_MAX_DIMS];
  if ((unsigned)direction >= CONVOY_DIRECTIONS)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "direction is %d, legal are 0 to %d", (int)direction,
                    CONVOY_DIRECTIONS - 1);
  convoy_status status = cvy_output_shape(conv, x_shape, w_shape, y);
  if (status) return status;
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text t = cvy_text_in(line, sizeof line);
  cvy_text_add(&t, "n%lldc%lld", (ll)x_shape[0], (ll)x_shape[1]);
  cvy_add_extents(&t, "zhw", x_shape + 2, conv->rank);
  cvy_text_add(&t, " ");
  cvy_text_add(&t, "k%lld", (ll)y[1]);
  cvy_add_extents(&t, "trs", w_shape + 2, conv->rank);
  cvy_text_add(&t, " ");
  cvy_add_axes(&t, "stride", conv->stride, conv->rank, 1);
  cvy_add_padding(&t, conv->pad_begin, conv->pad_end, conv->rank);
  cvy_add_axes(&t, "dil", conv->dilation, conv->rank, 1);
  if (conv->groups != 1) cvy_text_add(&t, "groups%lld ", (ll)conv->groups);
  if (conv->transposed) cvy_text_add(&t, "transposed ");
  cvy_add_axes(&t, "outpad", conv->output_padding, conv->rank, 0);
  cvy_text_add(&t, "%s", direction_names[direction]);
  if (t.overflow || t.used >= size)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text needs %zu bytes, %zu were given", t.used + 1,
                    size);
  cvy_text_copy(text, size, line);
  return CONVOY_OK;
}

/* The views of the call's x and y: a transposed convolution's are the problem's y and x. */
static void add_views(const cvy_conv_problem *p, cvy_text *to) {
  cvy_array_view_print(p->transposed ? &p->y : &p->x, "x", to);
  cvy_array_view_print(p->transposed ? &p->x : &p->y, "y", to);
}

static void set_views(cvy_conv_problem *p, cvy_array_view x, cvy_array_view y) {
  p->x = p->transposed ? y : x;
  p->y = p->transposed ? x : y;
}

void cvy_conv_print(const cvy_problem *p, char *text, size_t size) {
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text to = cvy_text_in(line, sizeof line);
  cvy_conv_spell(p, &conv, x, w, &direction);
  if (cvy_format_problem(&conv, x, w, direction, line, sizeof line)) to.overflow = true;
  to.used = strlen(line);
  add_views(&p->conv, &to);
  cvy_text_copy(text, size, to.overflow ? "?" : line);
}

static const char epilogue[] = ", with bias or activation";

const char *cvy_conv_remark(const cvy_problem *problem) {
  return problem->conv.has_bias || problem->conv.activation ? epilogue : "";
}

static bool parse_line(char *line, cvy_problem *out) {
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction = CONVOY_FORWARD;
  cvy_array_view of_x, of_y;
  char *end = strstr(line, ", ");
  const char *rest = end ? end : "";
  if (!cvy_array_view_parse(&rest, "x", &of_x) || !cvy_array_view_parse(&rest, "y", &of_y))
    return false;
  bool has_bias = strcmp(rest, epilogue) == 0;
  if (*rest && !has_bias) return false;
  if (end) *end = '\0';
  if (cvy_parse_problem(line, &conv, x, w, &direction) ||
      cvy_conv_make(&conv, direction, x, w, 0.0f, has_bias, NULL, out))
    return false;
  set_views(&out->conv, of_x, of_y);
  return cvy_problem_legal(out);
}

bool cvy_conv_parse(const char *text, cvy_problem *out) {
  char line[CVY_EXAMPLE_TEXT];
  if (!strchr(text, ' ')) return cvy_conv_parse_old(text, out);
  cvy_text_copy(line, sizeof line, text);
  return parse_line(line, out);
}
