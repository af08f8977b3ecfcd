/* Adam and AdamW. */
#include <math.h>

#include "api_check.h"
#include "nn/lists.h"

enum { W, G, M, V, LISTS };

typedef struct adam {
  const convoy_adam_options *options;
  bool decoupled; /* AdamW: weights decay by themselves */
  int32_t count;
  cvy_list list[LISTS];
  const convoy_tensor *rate;
  convoy_tensor *step;
} adam;

/* What is the same for all parameters, and for all elements. */
typedef struct adam_numbers {
  cvy_view decay, beta1, gain1, beta2, gain2, rate, root, epsilon;
} adam_numbers;

static convoy_status check_options(const convoy_adam_options *o) {
  convoy_status status = cvy_check_struct("options", o, sizeof *o, false);
  if (status) return status;
  if (!(o->beta1 >= 0.0 && o->beta1 < 1.0) || !(o->beta2 >= 0.0 && o->beta2 < 1.0))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "beta1 is %g and beta2 %g, legal are 0 to less than 1",
                    o->beta1, o->beta2);
  if ((o->epsilon >= 0.0 && o->epsilon < 1e30) && (o->decay >= 0.0 && o->decay < 1e30))
    return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "epsilon is %g and decay %g, legal are 0 to 1e30",
                  o->epsilon, o->decay);
}

static cvy_view number(cvy_composition *c, double value) {
  return cvy_view_of(cvy_compose_number(c, value));
}

/* The step's own, which depend on how many there were, are computed with it. */
static adam_numbers find_numbers(cvy_composition *c, const adam *a) {
  const convoy_adam_options *o = a->options;
  convoy_tensor *made[3];
  const int64_t one[] = {1, 1, 1, 1};
  for (int i = 0; i < 3; i++) made[i] = cvy_compose_new(c, 4, one);
  cvy_view size = cvy_view_of(made[0]), root = cvy_view_of(made[1]), keep = cvy_view_of(made[2]);
  cvy_compose(c, CVY_NN_ADAM_NUMBERS,
              (const cvy_view[]){cvy_view_as(a->step, 1, 1, 1, 1), cvy_view_of(a->rate),
                                 number(c, -0.5 * log(o->beta1)), number(c, -0.5 * log(o->beta2)),
                                 number(c, o->decay),
                                 cvy_view_as(cvy_compose_output(c, a->step), 1, 1, 1, 1), size,
                                 root, keep});
  return (adam_numbers){.decay = a->decoupled ? keep : number(c, o->decay),
                        .beta1 = number(c, o->beta1),
                        .gain1 = number(c, 1.0 - o->beta1),
                        .beta2 = number(c, o->beta2),
                        .gain2 = number(c, 1.0 - o->beta2),
                        .rate = size,
                        .root = root,
                        .epsilon = number(c, o->epsilon)};
}

static void step_one(cvy_composition *c, const adam *a, int32_t i, const adam_numbers *n) {
  convoy_tensor *const list[] = {a->list[W].tensor[i], a->list[G].tensor[i], a->list[M].tensor[i],
                                 a->list[V].tensor[i]};
  cvy_compose(
      c, a->decoupled ? CVY_NN_ADAMW : CVY_NN_ADAM,
      (const cvy_view[]){cvy_view_of(list[W]), cvy_view_of(list[G]), cvy_view_of(list[M]),
                         cvy_view_of(list[V]), n->decay, n->beta1, n->gain1, n->beta2, n->gain2,
                         n->rate, n->root, n->epsilon, cvy_view_of(cvy_compose_output(c, list[M])),
                         cvy_view_of(cvy_compose_output(c, list[V])),
                         cvy_view_of(cvy_compose_output(c, list[W]))});
}

static void step_all(cvy_composition *c, const adam *a) {
  if (!cvy_lists_check_extents(c, a->count, a->list, LISTS) ||
      !cvy_compose_check_number(c, "rate", a->rate) ||
      !cvy_compose_check_number(c, "step", a->step))
    return;
  adam_numbers numbers = find_numbers(c, a);
  for (int32_t i = 0; i < a->count; i++) step_one(c, a, i, &numbers);
}

static convoy_status compose(convoy_context *context, const adam *a, convoy_run *run) {
  const cvy_pointer given[] = {{"rate", a->rate}, {"step", a->step}};
  cvy_composition c;
  convoy_status status = check_options(a->options);
  if (!status) status = cvy_lists_check(a->count, a->list, LISTS);
  if (!status) status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  step_all(&c, a);
  return cvy_composition_end(&c);
}

static const convoy_adam_options defaults = CONVOY_ADAM_INIT;

convoy_status convoy_adam(convoy_context *context, const convoy_adam_options *options,
                          int32_t count, convoy_tensor *const w[], convoy_tensor *const g[],
                          convoy_tensor *const m[], convoy_tensor *const v[],
                          const convoy_tensor *rate, convoy_tensor *step, convoy_run *run) {
  const adam a = {options ? options : &defaults,
                  false,
                  count,
                  {{"w", w}, {"g", g}, {"m", m}, {"v", v}},
                  rate,
                  step};
  return compose(context, &a, run);
}

convoy_status convoy_adamw(convoy_context *context, const convoy_adam_options *options,
                           int32_t count, convoy_tensor *const w[], convoy_tensor *const g[],
                           convoy_tensor *const m[], convoy_tensor *const v[],
                           const convoy_tensor *rate, convoy_tensor *step, convoy_run *run) {
  const adam a = {options ? options : &defaults,
                  true,
                  count,
                  {{"w", w}, {"g", g}, {"m", m}, {"v", v}},
                  rate,
                  step};
  return compose(context, &a, run);
}
