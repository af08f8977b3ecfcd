/* Problems as text, both ways: the one grammar of logs, sentences, tools, tests and the files that
 * are kept. It stands in the public header at convoy_parse_problem. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "problem/conv/conv.h"

typedef long long ll;

static const char *const direction_names[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = "forward",
    [CONVOY_BACKWARD_DATA] = "backward_data",
    [CONVOY_BACKWARD_WEIGHTS] = "backward_weights",
    [CONVOY_BACKWARD_BIAS] = "backward_bias",
};

/* ----------------------------------------------------------------------------------- reading */

/* A place in the text; `fault` says what was expected there once something did not fit. */
typedef struct reader {
  const char *start, *at, *fault;
} reader;

static bool expect(reader *r, bool ok, const char *what) {
  if (!ok && !r->fault) r->fault = what;
  return !r->fault;
}

static bool take(reader *r, const char *word) {
  size_t length = strlen(word);
  if (r->fault || strncmp(r->at, word, length)) return false;
  r->at += length;
  return true;
}

static int64_t number(reader *r) {
  char *end;
  errno = 0;
  /* strtoll would also take blanks and signs, which have no place in the grammar. */
  if (!expect(r, isdigit((unsigned char)*r->at), "a number")) return 0;
  long long value = strtoll(r->at, &end, 10);
  if (!expect(r, !errno, "a number below 2^63")) return 0;
  r->at = end;
  return value;
}

static int64_t lettered(reader *r, const char *letter, const char *what) {
  if (!expect(r, take(r, letter), what)) return 0;
  return number(r);
}

/* One number for all axes, or one per axis; with `ends` each may be begin:end. */
static void per_axis(reader *r, int rank, int64_t *begin, int64_t *end) {
  int count = 0;
  do {
    if (!expect(r, count < rank, "no more numbers than axes")) return;
    begin[count] = number(r);
    if (end) end[count] = take(r, ":") ? number(r) : begin[count];
    count++;
  } while (take(r, ","));
  if (!expect(r, count == 1 || count == rank, "one number or one per axis")) return;
  for (int i = count; i < rank; i++) {
    begin[i] = begin[0];
    if (end) end[i] = end[0];
  }
}

static void extents(reader *r, convoy_conv *conv, int64_t *x_shape, int64_t *w_shape, int64_t *k) {
  static const char *const in[] = {"z", "h", "w"}, *const filter[] = {"t", "r", "s"};
  x_shape[0] = lettered(r, "n", "n");
  x_shape[1] = lettered(r, "c", "c");
  int first = r->fault ? 2 : *r->at == 'z' ? 0 : *r->at == 'h' ? 1 : 2;
  conv->rank = 3 - first;
  for (int i = first; i < 3; i++)
    x_shape[2 + i - first] = lettered(r, in[i], "z, h and w in this order");
  expect(r, take(r, " "), "a space");
  *k = lettered(r, "k", "k");
  for (int i = first; i < 3; i++)
    w_shape[2 + i - first] = lettered(r, filter[i], "t, r and s like z, h and w");
  expect(r, take(r, " "), "a space, and a direction at the end");
}

/* An optional word with a value per axis, and the space behind it. */
static void axes_word(reader *r, const char *word, int rank, int64_t *begin, int64_t *end) {
  if (!take(r, word)) return;
  per_axis(r, rank, begin, end);
  expect(r, take(r, " "), "a space, and a direction at the end");
}

static void options(reader *r, convoy_conv *conv) {
  axes_word(r, "stride", conv->rank, conv->stride, NULL);
  axes_word(r, "pad", conv->rank, conv->pad_begin, conv->pad_end);
  axes_word(r, "dil", conv->rank, conv->dilation, NULL);
  axes_word(r, "groups", 1, &conv->groups, NULL);
  conv->transposed = take(r, "transposed ");
  axes_word(r, "outpad", conv->rank, conv->output_padding, NULL);
}

int32_t cvy_direction_named(const char *name) {
  for (int32_t d = 0; d < CONVOY_DIRECTIONS; d++)
    if (!strcmp(name, direction_names[d])) return d;
  return -1;
}

static convoy_direction direction_word(reader *r) {
  const int32_t direction = r->fault ? -1 : cvy_direction_named(r->at);
  expect(r, direction >= 0, "forward, backward_data, backward_weights or backward_bias at the end");
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
  reader r = {text, text, NULL};
  convoy_conv c = CONVOY_CONV_INIT(2);
  int64_t x[CONVOY_MAX_DIMS] = {1, 1, 1, 1, 1}, w[CONVOY_MAX_DIMS] = {1, 1, 1, 1, 1},
          y[CONVOY_MAX_DIMS], k;
  extents(&r, &c, x, w, &k);
  options(&r, &c);
  convoy_direction d = direction_word(&r);
  if (r.fault)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text, character %d (\"%.20s\"): expected %s",
                    (int)(r.at - r.start), r.at, r.fault);
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

static bool all_are(const int64_t *values, int rank, int64_t value) {
  for (int i = 0; i < rank; i++)
    if (values[i] != value) return false;
  return true;
}

static void add_axes(cvy_text *text, const char *word, const int64_t *values, int rank,
                     int64_t usual) {
  if (all_are(values, rank, usual)) return;
  int count = all_are(values, rank, values[0]) ? 1 : rank;
  for (int i = 0; i < count; i++) cvy_text_add(text, "%s%lld", i ? "," : word, (ll)values[i]);
  cvy_text_add(text, " ");
}

static void add_padding(cvy_text *text, const convoy_conv *conv) {
  int rank = conv->rank;
  if (all_are(conv->pad_begin, rank, 0) && all_are(conv->pad_end, rank, 0)) return;
  bool same = all_are(conv->pad_begin, rank, conv->pad_begin[0]) &&
              all_are(conv->pad_end, rank, conv->pad_end[0]);
  for (int i = 0; i < (same ? 1 : rank); i++) {
    cvy_text_add(text, "%s%lld", i ? "," : "pad", (ll)conv->pad_begin[i]);
    if (conv->pad_end[i] != conv->pad_begin[i]) cvy_text_add(text, ":%lld", (ll)conv->pad_end[i]);
  }
  cvy_text_add(text, " ");
}

static void add_extents(cvy_text *text, const char *letters, const int64_t *shape, int rank) {
  for (int i = 0; i < rank; i++)
    cvy_text_add(text, "%c%lld", letters[3 - rank + i], (ll)shape[2 + i]);
  cvy_text_add(text, " ");
}

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
  add_extents(&t, "zhw", x_shape, conv->rank);
  cvy_text_add(&t, "k%lld", (ll)y[1]);
  add_extents(&t, "trs", w_shape, conv->rank);
  add_axes(&t, "stride", conv->stride, conv->rank, 1);
  add_padding(&t, conv);
  add_axes(&t, "dil", conv->dilation, conv->rank, 1);
  if (conv->groups != 1) cvy_text_add(&t, "groups%lld ", (ll)conv->groups);
  if (conv->transposed) cvy_text_add(&t, "transposed ");
  add_axes(&t, "outpad", conv->output_padding, conv->rank, 0);
  cvy_text_add(&t, "%s", direction_names[direction]);
  if (t.overflow || t.used >= size)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text needs %zu bytes, %zu were given", t.used + 1,
                    size);
  cvy_text_copy(text, size, line);
  return CONVOY_OK;
}

void cvy_conv_print(const cvy_problem *p, char *text, size_t size) {
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  cvy_conv_spell(p, &conv, x, w, &direction);
  if (cvy_format_problem(&conv, x, w, direction, text, size)) cvy_text_copy(text, size, "?");
}

static const char epilogue[] = ", with bias or activation";

const char *cvy_conv_remark(const cvy_problem *problem) {
  return problem->conv.has_bias || problem->conv.activation ? epilogue : "";
}

static bool parse_line(char *line, cvy_problem *out) {
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction = CONVOY_FORWARD;
  char *rest = strstr(line, ", ");
  bool has_bias = rest && strcmp(rest, epilogue) == 0;
  if (rest && !has_bias) return false;
  if (rest) *rest = '\0';
  return !cvy_parse_problem(line, &conv, x, w, &direction) &&
         !cvy_conv_make(&conv, direction, x, w, 0.0f, has_bias, NULL, out);
}

bool cvy_conv_parse(const char *text, cvy_problem *out) {
  char line[CVY_EXAMPLE_TEXT];
  if (!strchr(text, ' ')) return cvy_conv_parse_old(text, out);
  cvy_text_copy(line, sizeof line, text);
  return parse_line(line, out);
}
