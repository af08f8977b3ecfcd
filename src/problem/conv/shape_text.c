/* Problems as text, both ways: the one grammar of logs, sentences, tools, tests and the files that
 * are kept. It stands in the public header at convoy_parse_problem. */
#include <string.h>

#include "problem/conv/conv.h"
#include "problem/fields.h"

typedef long long ll;

static const char *const directions[] = {
    [CONVOY_FORWARD] = "forward",
    [CONVOY_BACKWARD_DATA] = "backward_data",
    [CONVOY_BACKWARD_WEIGHTS] = "backward_weights",
    [CONVOY_BACKWARD_BIAS] = "backward_bias",
    [CONVOY_DIRECTIONS] = NULL,
};

/* What a text says. */
typedef struct conv_words {
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS], k;
  int32_t direction;
} conv_words;

#define AT(member) offsetof(conv_words, member)
static const char behind[] = "a space, and a direction at the end";
static const cvy_field rows[] = {
    {CVY_FIELD_MAPS, .at = AT(x)},
    {CVY_FIELD_NUMBER, .word = "k", .at = AT(k), .expected = "k"},
    {CVY_FIELD_EXTENTS, .word = "trs", .at = AT(w[2]), .expected = "t, r and s like z, h and w"},
    {CVY_FIELD_WORD, .word = " ", .expected = behind},
    {CVY_FIELD_AXES, .word = "stride", .at = AT(conv.stride), .usual = 1, .expected = behind},
    {CVY_FIELD_SIDES, .word = "pad", .at = AT(conv.pad_begin), .end = AT(conv.pad_end),
     .expected = behind},
    {CVY_FIELD_AXES, .word = "dil", .at = AT(conv.dilation), .usual = 1, .expected = behind},
    {CVY_FIELD_ONE, .word = "groups", .at = AT(conv.groups), .usual = 1, .expected = behind},
    {CVY_FIELD_FLAG, .word = "transposed ", .at = AT(conv.transposed)},
    {CVY_FIELD_AXES, .word = "outpad", .at = AT(conv.output_padding), .expected = behind},
    {CVY_FIELD_LAST, .at = AT(direction), .words = directions,
     .expected = "forward, backward_data, backward_weights or backward_bias at the end"},
};
static const cvy_fields fields = {rows, CVY_COUNT(rows), AT(conv.rank)};

/* ----------------------------------------------------------------------------------- reading */

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
  conv_words c = {CONVOY_CONV_INIT(2), {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, 0, CONVOY_FORWARD};
  int64_t y[CONVOY_MAX_DIMS];
  cvy_fields_read(&fields, &r, &c);
  if (r.fault) return cvy_read_failed(&r);
  if (!weights_channels(&c.conv, c.x[1], c.k, c.w))
    return cvy_fail(CONVOY_ERR_SHAPE, "problem text: groups %lld do not divide c %lld and k %lld",
                    (ll)c.conv.groups, (ll)c.x[1], (ll)c.k);
  convoy_status status = cvy_output_shape(&c.conv, c.x, c.w, y);
  if (status) return status;
  *conv = c.conv;
  memcpy(x_shape, c.x, sizeof c.x);
  memcpy(w_shape, c.w, sizeof c.w);
  *direction = (convoy_direction)c.direction;
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
  conv_words call = {.conv = *conv, .k = y[1], .direction = (int32_t)direction};
  memcpy(call.x, x_shape, (size_t)(conv->rank + 2) * sizeof *call.x);
  memcpy(call.w, w_shape, (size_t)(conv->rank + 2) * sizeof *call.w);
  cvy_fields_print(&fields, &call, &t);
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

bool cvy_conv_parse(const char *text, cvy_problem *out) {
  static const char *const names[] = {"x", "y"};
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction = CONVOY_FORWARD;
  cvy_array_view views[CVY_COUNT(names)];
  char line[CVY_EXAMPLE_TEXT];
  const char *rest = cvy_array_views_parse(text, line, sizeof line, names, CVY_COUNT(names), views);
  bool has_bias = rest && strcmp(rest, epilogue) == 0;
  if (!rest || (*rest && !has_bias)) return false;
  if (cvy_parse_problem(line, &conv, x, w, &direction) ||
      cvy_conv_make(&conv, direction, x, w, 0.0f, has_bias, NULL, out))
    return false;
  set_views(&out->conv, views[0], views[1]);
  return cvy_problem_legal(out);
}
