/* The norm of many gradients together, and clipping by it. */
#include <stdlib.h>

#include "api_check.h"
#include "nn/lists.h"

enum { AT_ONCE = 12 }; /* numbers that one program adds */

/* One of the numbers that are added next: `from` those that are there, in their order. */
static convoy_tensor *add_some(cvy_composition *c, convoy_tensor *const *from, int32_t count) {
  const int64_t one = 1;
  cvy_view operands[AT_ONCE + 1];
  cvy_view nothing = cvy_view_of(cvy_compose_number(c, 0.0));
  for (int32_t i = 0; i < AT_ONCE; i++) operands[i] = i < count ? cvy_view_of(from[i]) : nothing;
  convoy_tensor *sum = cvy_compose_new(c, 1, &one);
  operands[AT_ONCE] = cvy_view_of(sum);
  cvy_compose(c, CVY_NN_ADD_UP, operands);
  return sum;
}

/* The sums take the places of the first numbers, until there is one. */
static convoy_tensor *add_up(cvy_composition *c, convoy_tensor **numbers, int32_t count) {
  while (count > 1 && !c->status) {
    int32_t sums = 0;
    for (int32_t i = 0; i < count; i += AT_ONCE)
      numbers[sums++] = add_some(c, numbers + i, count - i < AT_ONCE ? count - i : AT_ONCE);
    count = sums;
  }
  return numbers[0];
}

static void find_norm(cvy_composition *c, int32_t count, convoy_tensor *const *g, cvy_view norm) {
  const int64_t one = 1;
  convoy_tensor **squares = calloc((size_t)count, sizeof *squares);
  if (!squares) {
    cvy_composition_fail(c, CONVOY_ERR_MEMORY, "no host memory for %d tensors", (int)count);
    return;
  }
  for (int32_t i = 0; i < count; i++) {
    squares[i] = cvy_compose_new(c, 1, &one);
    cvy_compose(c, CVY_NN_SQUARES, (const cvy_view[]){cvy_view_of(g[i]), cvy_view_of(squares[i])});
  }
  cvy_view sum = cvy_view_of(add_up(c, squares, count));
  cvy_compose(c, CVY_NN_ROOT, (const cvy_view[]){sum, norm});
  free(squares);
}

static void scale(cvy_composition *c, int32_t count, convoy_tensor *const *g, cvy_view norm,
                  double most) {
  const int64_t one = 1;
  cvy_view factor = cvy_view_of(cvy_compose_new(c, 1, &one));
  cvy_compose(c, CVY_NN_CLIP_FACTOR,
              (const cvy_view[]){norm, cvy_view_of(cvy_compose_number(c, most)), factor});
  for (int32_t i = 0; i < count; i++)
    cvy_compose(
        c, CVY_NN_SCALE,
        (const cvy_view[]){cvy_view_of(g[i]), factor, cvy_view_of(cvy_compose_output(c, g[i]))});
}

/* `most` NULL: nothing is clipped. */
static convoy_status compose(convoy_context *context, const double *most, int32_t count,
                             convoy_tensor *const g[], convoy_tensor *norm, convoy_run *run) {
  const cvy_list list = {"g", g};
  const int64_t one = 1;
  cvy_composition c;
  convoy_status status = cvy_lists_check(count, &list, 1);
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  if (cvy_lists_check_extents(&c, count, &list, 1) &&
      (!norm || cvy_compose_check_number(&c, "norm", norm))) {
    convoy_tensor *to = norm ? cvy_compose_output(&c, norm) : cvy_compose_new(&c, 1, &one);
    find_norm(&c, count, g, cvy_view_as(to, 1, 1, 1, 1));
    if (most) scale(&c, count, g, cvy_view_of(to), *most);
  }
  return cvy_composition_end(&c);
}

convoy_status convoy_gradient_norm(convoy_context *context, int32_t count, convoy_tensor *const g[],
                                   convoy_tensor *norm, convoy_run *run) {
  if (!norm) return cvy_fail(CONVOY_ERR_ARGUMENT, "norm is NULL");
  return compose(context, NULL, count, g, norm, run);
}

convoy_status convoy_clip_gradients(convoy_context *context, double most, int32_t count,
                                    convoy_tensor *const g[], convoy_tensor *norm,
                                    convoy_run *run) {
  if (!(most >= 0.0)) return cvy_fail(CONVOY_ERR_ARGUMENT, "most is %g, legal is >= 0", most);
  return compose(context, &most, count, g, norm, run);
}
