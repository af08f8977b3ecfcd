/* From a problem to the name of its class; the rule stands in the header. */
#include "core/shape_class.h"

#include <string.h>

static int bucket(int64_t extent) {
  int log2 = 0;
  while (log2 < 62 && (INT64_C(1) << log2) < extent) log2++;
  return log2;
}

static int64_t largest(const int64_t extent[3]) {
  int64_t most = extent[0];
  for (int axis = 1; axis < 3; axis++) most = extent[axis] > most ? extent[axis] : most;
  return most;
}

static const char *filter_kind(const cvy_problem *p) {
  int64_t most = largest(p->filter);
  return most == 1 ? "point" : most <= 3 ? "small" : "large";
}

static const char *groups_kind(const cvy_problem *p) {
  if (p->groups == 1) return "";
  return p->groups == p->c ? "_depthwise" : "_grouped";
}

/* Also padding at the end alone, which only the extents show. */
static bool is_padded(const cvy_problem *p) {
  for (int axis = 0; axis < 3; axis++) {
    int64_t last = (p->out[axis] - 1) * p->stride[axis] + (p->filter[axis] - 1) * p->dilation[axis];
    if (p->pad[axis] || last - p->pad[axis] >= p->in[axis]) return true;
  }
  return false;
}

void cvy_shape_class(const cvy_problem *p, char *text, size_t size) {
  static const char *const directions[CONVOY_DIRECTIONS] = {"forward", "data", "weights", "bias"};
  int64_t stride = largest(p->stride);
  cvy_text out = cvy_text_in(text, size);
  cvy_text_add(&out, "%s_r%d_c%d_k%d_in%d,%d,%d_%s_s%d", directions[p->direction], (int)p->rank,
               bucket(p->c / p->groups), bucket(p->k / p->groups), bucket(p->in[0]),
               bucket(p->in[1]), bucket(p->in[2]), filter_kind(p), (int)(stride > 3 ? 3 : stride));
  cvy_text_add(&out, "%s%s%s%s%s", largest(p->dilation) > 1 ? "_dil" : "", groups_kind(p),
               is_padded(p) ? "_pad" : "", p->accumulate ? "_sum" : "",
               p->has_bias || p->activation ? "_act" : "");
}

/* -------------------------------------------------------------------------------- examples */

static const char added[] = ", added to what is there", epilogue[] = ", with bias or activation";

void cvy_class_example(const cvy_problem *problem, char *text, size_t size) {
  const bool has_epilogue = problem->has_bias || problem->activation;
  cvy_problem_text(problem, text, size);
  const size_t used = strlen(text);
  cvy_text_copy(text + used, size - used,
                problem->accumulate ? added
                : has_epilogue      ? epilogue
                                    : "");
}

bool cvy_class_of_example(const char *text, char *shape_class, size_t size) {
  char line[CVY_EXAMPLE_TEXT], again[CVY_EXAMPLE_TEXT];
  convoy_conv conv;
  int64_t x[CONVOY_MAX_DIMS], w[CONVOY_MAX_DIMS];
  convoy_direction direction;
  cvy_problem p;
  cvy_text_copy(line, sizeof line, text);
  char *rest = strstr(line, ", ");
  const bool sums = rest && strcmp(rest, added) == 0;
  const bool has_bias = rest && strcmp(rest, epilogue) == 0;
  if (rest) *rest = '\0';
  if (cvy_parse_problem(line, &conv, x, w, &direction) ||
      cvy_problem_make(&conv, direction, x, w, sums ? 1.0f : 0.0f, has_bias, NULL, &p))
    return false;
  cvy_class_example(&p, again, sizeof again);
  if (strcmp(again, text) != 0) return false;
  cvy_shape_class(&p, shape_class, size);
  return true;
}
