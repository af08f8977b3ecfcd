/* Resampling as text, both ways. The grammar stands in the public header at convoy_parse_resample.
 */
#include "problem/axes_text.h"
#include "problem/resampling/resampling.h"
#include "program/literal.h"

static const char *const mode_words[CONVOY_INTERPOLATIONS] = {
    [CONVOY_NEAREST] = "",
    [CONVOY_NEAREST_EXACT] = "exact ",
    [CONVOY_LINEAR] = "",
    [CONVOY_LINEAR_ALIGNED] = "aligned ",
};

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
  char line[CONVOY_PROBLEM_TEXT];
  cvy_text to = cvy_text_in(line, sizeof line);
  cvy_text_add(&to, "%s n%lldc%lld", cvy_operation_of(problem)->name, (long long)p->n,
               (long long)p->c);
  cvy_add_extents(&to, "zhw", p->in + 3 - p->rank, p->rank);
  cvy_text_add(&to, " ");
  cvy_add_extents(&to, "zhw", p->out + 3 - p->rank, p->rank);
  cvy_text_add(&to, " %s", mode_words[p->mode]);
  add_steps(p, &to);
  line[--to.used] = '\0'; /* the blank */
  cvy_array_view_print(&p->x, "x", &to);
  cvy_array_view_print(&p->y, "y", &to);
  cvy_text_copy(text, size, to.overflow ? "?" : line);
}

/* ----------------------------------------------------------------------------------- reading */

/* The name, and a blank behind it. */
static bool take_name(cvy_reader *r, bool *linear, bool *backward) {
  *linear = cvy_read_word(r, "resample_linear");
  if (!*linear && !cvy_read_word(r, "resample_nearest")) return false;
  *backward = cvy_read_word(r, "_backward");
  return cvy_read_word(r, " ");
}

static void read_y(cvy_reader *r, int rank, int64_t *extents) {
  static const char *const letters[] = {"z", "h", "w"};
  for (int i = 0; i < rank; i++)
    extents[i] = cvy_read_lettered(r, letters[3 - rank + i], "z, h and w as before");
}

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
  cvy_reader r = {line, line, NULL};
  convoy_resampling how = CONVOY_RESAMPLING_INIT(2);
  bool linear = false, backward = false;
  int64_t x[CONVOY_MAX_DIMS] = {0}, y[CONVOY_MAX_DIMS] = {0};
  size_t length = strlen(text);
  if (length + 1 >= sizeof line)
    return cvy_fail(CONVOY_ERR_ARGUMENT, "problem text of %zu bytes, at most %d", length,
                    CONVOY_PROBLEM_TEXT - 1);
  memcpy(line, text, length);
  line[length] = ' '; /* so that every word has a blank behind it */
  line[length + 1] = '\0';
  cvy_read_expected(&r, take_name(&r, &linear, &backward),
                    "resample_nearest, resample_linear, or one of them with _backward");
  how.rank = cvy_read_maps(&r, x);
  y[0] = x[0];
  y[1] = x[1];
  read_y(&r, how.rank, y + 2);
  cvy_read_expected(&r, cvy_read_word(&r, " "), "a space");
  how.mode = linear ? CONVOY_LINEAR : CONVOY_NEAREST;
  if (cvy_read_word(&r, mode_words[how.mode + 1])) how.mode++;
  if (how.mode != CONVOY_LINEAR_ALIGNED) read_steps(&r, how.rank, how.scale);
  cvy_read_expected(&r, !*r.at, behind);
  return r.fault ? cvy_read_failed(&r) : cvy_resampling_make(backward, &how, x, y, out);
}

/* Behind it is where parts of larger tensors lie, which no public call has words for. */
bool cvy_resampling_parse(const char *text, cvy_problem *out) {
  char line[CVY_EXAMPLE_TEXT];
  cvy_text_copy(line, sizeof line, text);
  char *end = strstr(line, ", ");
  const char *rest = end ? text + (end - line) : "";
  if (end) *end = '\0';
  if (cvy_resampling_read(line, out)) return false;
  return cvy_array_view_parse(&rest, "x", &out->resampling.x) &&
         cvy_array_view_parse(&rest, "y", &out->resampling.y) && !*rest &&
         cvy_resampling_legal(out);
}
