/* Copies as text, both ways. The grammar stands in the public header at convoy_parse_copy. */
#include <math.h>

#include "problem/axes_text.h"
#include "problem/move/move.h"
#include "program/literal.h"

typedef long long ll;

static const char *const types[CONVOY_DTYPES] = {
    [CONVOY_FLOAT32] = " ", [CONVOY_INT32] = ":int32 ", [CONVOY_UINT8] = ":uint8 "};

/* ----------------------------------------------------------------------------------- writing */

static void add_list(cvy_text *text, const char *word, const int64_t *values, int32_t count) {
  for (int32_t i = 0; i < count; i++) cvy_text_add(text, "%s%lld", i ? "," : word, (ll)values[i]);
  cvy_text_add(text, " ");
}

static void add_fill(cvy_text *text, float fill) {
  if (fill == 0.0f && !signbit(fill)) return;
  cvy_text_add(text, "fill%s", signbit(fill) && !isnan(fill) ? "-" : "");
  cvy_number_write(text, fabsf(fill));
  cvy_text_add(text, " ");
}

/* False: the line is too short. */
static bool write(const cvy_move_copy *p, char *line, size_t size) {
  cvy_text to = cvy_text_in(line, size);
  cvy_text_add(&to, "copy x%lld%s", (ll)p->elements, types[p->dtype]);
  if (p->offset) cvy_text_add(&to, "from%lld ", (ll)p->offset);
  add_list(&to, "by", p->stride, p->axes);
  add_list(&to, "y", p->extent, p->axes);
  if (!cvy_move_copy_is_full(p)) add_list(&to, "take", p->count, p->axes);
  cvy_add_axes(&to, "at", p->begin, p->axes, 0);
  cvy_add_axes(&to, "step", p->step, p->axes, 1);
  add_fill(&to, p->fill);
  line[to.used - 1] = '\0'; /* the blank */
  return !to.overflow;
}

void cvy_move_copy_print(const cvy_problem *problem, char *text, size_t size) {
  char line[CONVOY_PROBLEM_TEXT];
  bool fits = write(&problem->move.copy, line, sizeof line);
  cvy_text_copy(text, size, fits ? line : "copy");
}

/* Its text fits, and numbers in texts are no denormal ones. */
bool cvy_move_copy_readable(const cvy_problem *problem) {
  char line[CONVOY_PROBLEM_TEXT];
  const cvy_move_copy *p = &problem->move.copy;
  return write(p, line, sizeof line) && (p->fill == 0.0f || fpclassify(p->fill) != FP_SUBNORMAL);
}

/* ----------------------------------------------------------------------------------- reading */

static int64_t read_signed(cvy_reader *r) {
  bool negative = cvy_read_word(r, "-");
  int64_t value = cvy_read_number(r);
  return negative ? -value : value;
}

static int32_t read_list(cvy_reader *r, const char *word, int64_t *values) {
  int32_t count = 0;
  if (!cvy_read_expected(r, cvy_read_word(r, word), word)) return 0;
  do {
    if (!cvy_read_expected(r, count < CVY_MOVE_AXES, "no more than 8 axes")) return 0;
    values[count++] = read_signed(r);
  } while (cvy_read_word(r, ","));
  cvy_read_expected(r, cvy_read_word(r, " "), "a space");
  return count;
}

static convoy_dtype read_type(cvy_reader *r) {
  for (int type = 0; type < CONVOY_DTYPES; type++)
    if (cvy_read_word(r, types[type])) return (convoy_dtype)type;
  cvy_read_expected(r, false, ":int32, :uint8 or a space");
  return CONVOY_FLOAT32;
}

static float read_fill(cvy_reader *r) {
  bool negative = cvy_read_word(r, "-");
  float value = 0.0f;
  if (cvy_read_word(r, "inf"))
    value = INFINITY;
  else if (cvy_read_word(r, "nan"))
    value = NAN;
  else if (cvy_read_expected(r, cvy_number_begins(r->at), "a number, inf or nan"))
    cvy_read_expected(r, !cvy_number_read(&r->at, &value), "a number that float32 has");
  return negative ? -value : value;
}

static void read_places(cvy_reader *r, convoy_box *how) {
  static const char behind[] = "take, at, step, fill in this order, or the end";
  if (r->fault || !*r->at) return;
  if (strncmp(r->at, "take", 4) == 0)
    cvy_read_expected(r, read_list(r, "take", how->count) == how->axes, "a number for each axis");
  cvy_read_axes(r, "at", how->axes, how->begin, NULL, behind);
  cvy_read_axes(r, "step", how->axes, how->step, NULL, behind);
  if (cvy_read_word(r, "fill")) {
    how->fill = read_fill(r);
    cvy_read_expected(r, cvy_read_word(r, " "), behind);
  }
  cvy_read_expected(r, !*r->at, behind);
}

convoy_status cvy_move_copy_read(const char *text, convoy_box *how, convoy_dtype *dtype,
                                 int64_t *elements) {
  char line[CONVOY_PROBLEM_TEXT + 1];
  cvy_reader r = {line, line, NULL};
  size_t length = strlen(text);
  if (length + 1 >= sizeof line)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text of %zu bytes, at most %d", length,
                    CONVOY_PROBLEM_TEXT - 1);
  memcpy(line, text, length);
  line[length] = ' '; /* so that every word has a blank behind it */
  line[length + 1] = '\0';
  *how = (convoy_box)CONVOY_BOX_INIT(1);
  *elements = cvy_read_lettered(&r, "copy x", "copy x");
  *dtype = read_type(&r);
  if (cvy_read_word(&r, "from")) {
    how->offset = cvy_read_number(&r);
    cvy_read_expected(&r, cvy_read_word(&r, " "), "a space");
  }
  how->axes = read_list(&r, "by", how->stride);
  cvy_read_expected(&r, read_list(&r, "y", how->extent) == how->axes, "an extent for each stride");
  memcpy(how->count, how->extent, sizeof how->count);
  read_places(&r, how);
  return r.fault ? cvy_read_failed(&r) : CONVOY_OK;
}

bool cvy_move_copy_parse(const char *text, cvy_problem *out) {
  convoy_box how;
  convoy_dtype dtype = CONVOY_FLOAT32;
  int64_t elements = 0;
  return cvy_move_copy_read(text, &how, &dtype, &elements) == CONVOY_OK &&
         cvy_move_copy_take(&how, dtype, elements, out) == CONVOY_OK;
}
