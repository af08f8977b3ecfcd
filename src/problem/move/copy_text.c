/* Copies as text, both ways. The grammar stands in the public header at convoy_parse_copy. */
#include <math.h>

#include "problem/fields.h"
#include "problem/move/move.h"
#include "program/literal.h"

static const char *const types[] = {
    [CONVOY_FLOAT32] = " ", [CONVOY_INT32] = ":int32 ", [CONVOY_UINT8] = ":uint8 ", NULL};

/* What a text says, but for the fill. */
typedef struct copy_words {
  convoy_box how;
  int32_t dtype;
  int64_t elements;
} copy_words;

#define AT(member) offsetof(copy_words, member)
static const char behind[] = "take, at, step, fill in this order, or the end";
static const cvy_field rows[] = {
    {CVY_FIELD_NUMBER, .word = "copy x", .at = AT(elements), .expected = "copy x"},
    {CVY_FIELD_CHOICE, .at = AT(dtype), .words = types, .expected = ":int32, :uint8 or a space"},
    {CVY_FIELD_OPTION, .word = "from", .at = AT(how.offset), .expected = "a space"},
    {CVY_FIELD_LIST, .word = "by", .at = AT(how.stride)},
    {CVY_FIELD_ALIKE, .word = "y", .at = AT(how.extent), .expected = "an extent for each stride"},
    {CVY_FIELD_PART, .word = "take", .at = AT(how.count), .end = AT(how.extent),
     .expected = "a number for each axis"},
    {CVY_FIELD_AXES, .word = "at", .at = AT(how.begin), .expected = behind},
    {CVY_FIELD_AXES, .word = "step", .at = AT(how.step), .usual = 1, .expected = behind},
};
static const cvy_fields fields = {rows, CVY_COUNT(rows), AT(how.axes)};

/* ----------------------------------------------------------------------------------- writing */

static void add_fill(cvy_text *text, float fill) {
  if (fill == 0.0f && !signbit(fill)) return;
  cvy_text_add(text, "fill%s", signbit(fill) && !isnan(fill) ? "-" : "");
  cvy_number_write(text, fabsf(fill));
  cvy_text_add(text, " ");
}

/* False: the line is too short. */
static bool write(const cvy_problem *problem, char *line, size_t size) {
  const cvy_move_copy *p = &problem->move.copy;
  copy_words call = {.dtype = p->dtype, .elements = p->elements};
  cvy_text to = cvy_text_in(line, size);
  cvy_move_copy_spell(problem, &call.how);
  cvy_fields_print(&fields, &call, &to);
  add_fill(&to, p->fill);
  line[to.used - 1] = '\0'; /* the blank */
  return !to.overflow;
}

void cvy_move_copy_print(const cvy_problem *problem, char *text, size_t size) {
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text_copy(text, size, write(problem, line, sizeof line) ? line : "copy");
}

/* Its text fits, and numbers in texts are no denormal ones. */
bool cvy_move_copy_readable(const cvy_problem *problem) {
  char line[CONVOY_PROBLEM_TEXT];
  float fill = problem->move.copy.fill;
  return write(problem, line, sizeof line) && (fill == 0.0f || fpclassify(fill) != FP_SUBNORMAL);
}

/* ----------------------------------------------------------------------------------- reading */

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

convoy_status cvy_move_copy_read(const char *text, convoy_box *how, convoy_dtype *dtype,
                                 int64_t *elements) {
  char line[CONVOY_PROBLEM_TEXT + 1];
  copy_words call = {.how = CONVOY_BOX_INIT(1)};
  cvy_reader r;
  convoy_status status = cvy_read_begin(text, line, &r);
  if (status) return status;
  cvy_fields_read(&fields, &r, &call);
  if (cvy_read_word(&r, "fill")) {
    call.how.fill = read_fill(&r);
    cvy_read_expected(&r, cvy_read_word(&r, " "), behind);
  }
  cvy_read_expected(&r, !*r.at, behind);
  *how = call.how;
  *dtype = (convoy_dtype)call.dtype;
  *elements = call.elements;
  return r.fault ? cvy_read_failed(&r) : CONVOY_OK;
}

bool cvy_move_copy_parse(const char *text, cvy_problem *out) {
  convoy_box how;
  convoy_dtype dtype = CONVOY_FLOAT32;
  int64_t elements = 0;
  return cvy_move_copy_read(text, &how, &dtype, &elements) == CONVOY_OK &&
         cvy_move_copy_take(&how, dtype, elements, out) == CONVOY_OK;
}
