/* Resampling as text, both ways. The grammar stands in the public header at convoy_parse_resample.
 */
#include "problem/fields.h"
#include "problem/resampling/resampling.h"
#include "program/literal.h"

static const char *const mode_words[CONVOY_INTERPOLATIONS] = {
    [CONVOY_NEAREST] = "",
    [CONVOY_NEAREST_EXACT] = "exact ",
    [CONVOY_LINEAR] = "",
    [CONVOY_LINEAR_ALIGNED] = "aligned ",
};

/* What a text says, but for the way that positions are found. */
typedef struct resampling_words {
  int32_t linear, backward;
  convoy_resampling how;
  int64_t x[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS];
} resampling_words;

#define AT(member) offsetof(resampling_words, member)
static const char *const names[] = {"resample_nearest", "resample_linear", NULL};
static const char name[] = "resample_nearest, resample_linear, or one of them with _backward";
static const cvy_field rows[] = {
    {CVY_FIELD_CHOICE, .at = AT(linear), .words = names, .expected = name},
    {CVY_FIELD_FLAG, .word = "_backward", .at = AT(backward)},
    {CVY_FIELD_WORD, .word = " ", .expected = name},
    {CVY_FIELD_MAPS, .at = AT(x)},
    {CVY_FIELD_EXTENTS, .word = "zhw", .at = AT(y[2]), .expected = "z, h and w as before"},
    {CVY_FIELD_WORD, .word = " ", .expected = "a space"},
};
static const cvy_fields fields = {rows, CVY_COUNT(rows), AT(how.rank)};

/* ----------------------------------------------------------------------------------- writing */

static void add_steps(const cvy_resampling_problem *p, cvy_text *to) {
  bool usual = true;
  for (int axis = 3 - p->rank; axis < 3; axis++)
    usual &= p->step[axis] == cvy_resampling_usual_step(p->mode, p->in[axis], p->out[axis]);
  if (usual) return;
  for (int axis = 3 - p->rank; axis < 3; axis++) {
    cvy_text_add(to, "%s", axis > 3 - p->rank ? "," : "step");
    cvy_number_write(to, p->step[axis]);
  }
  cvy_text_add(to, " ");
}

void cvy_resampling_print(const cvy_problem *problem, char *text, size_t size) {
  const cvy_resampling_problem *p = &problem->resampling;
  resampling_words call = {.linear = cvy_resampling_is_linear(problem),
                           .backward = cvy_resampling_is_backward(problem)};
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text to = cvy_text_in(line, sizeof line);
  cvy_resampling_spell(problem, &call.how, call.x, call.y);
  cvy_fields_print(&fields, &call, &to);
  cvy_text_add(&to, "%s", mode_words[p->mode]);
  add_steps(p, &to);
  line[--to.used] = '\0'; /* the blank */
  cvy_array_view_print(&p->x, "x", &to);
  cvy_array_view_print(&p->y, "y", &to);
  cvy_text_copy(text, size, to.overflow ? "?" : line);
}

/* ----------------------------------------------------------------------------------- reading */

/* A step is a scale's inverse, in float32. */
static void read_steps(cvy_reader *r, int rank, double *scale) {
  if (!cvy_read_word(r, "step")) return;
  for (int i = 0; i < rank; i++) {
    float step = 1.0f;
    if (i > 0) cvy_read_expected(r, cvy_read_word(r, ","), "a step for each axis");
    if (!cvy_read_expected(r, cvy_number_begins(r->at), "a number")) return;
    bool read = !cvy_number_read(&r->at, &step) && step > 0.0f;
    if (!cvy_read_expected(r, read, "a number above 0 that float32 has")) return;
    scale[i] = 1.0 / (double)step;
  }
  cvy_read_expected(r, cvy_read_word(r, " "), "a step for each axis");
}

convoy_status cvy_resampling_read(const char *text, cvy_problem *out) {
  static const char behind[] = "exact or aligned, step in this order, or the end";
  char line[CONVOY_PROBLEM_TEXT + 1];
  resampling_words call = {.how = CONVOY_RESAMPLING_INIT(2)};
  convoy_resampling *how = &call.how;
  cvy_reader r;
  convoy_status status = cvy_read_begin(text, line, &r);
  if (status) return status;
  cvy_fields_read(&fields, &r, &call);
  memcpy(call.y, call.x, 2 * sizeof *call.y);
  how->mode = call.linear ? CONVOY_LINEAR : CONVOY_NEAREST;
  if (cvy_read_word(&r, mode_words[how->mode + 1])) how->mode++;
  if (how->mode != CONVOY_LINEAR_ALIGNED) read_steps(&r, how->rank, how->scale);
  if (!cvy_read_expected(&r, !*r.at, behind)) return cvy_read_failed(&r);
  return cvy_resampling_make(call.backward, how, call.x, call.y, out);
}

bool cvy_resampling_parse(const char *text, cvy_problem *out) {
  static const char *const operands[] = {"x", "y"};
  char line[CVY_EXAMPLE_TEXT];
  cvy_array_view views[CVY_COUNT(operands)];
  const char *rest =
      cvy_array_views_parse(text, line, sizeof line, operands, CVY_COUNT(operands), views);
  if (!rest || *rest || cvy_resampling_read(line, out)) return false;
  out->resampling.x = views[0];
  out->resampling.y = views[1];
  return cvy_resampling_legal(out);
}
