/* Gradient descent, with momentum or without. */
#include "api_check.h"
#include "nn/lists.h"

enum { W, G, V, LISTS };

typedef struct descent {
  const convoy_sgd_options *options;
  int32_t count;
  cvy_list list[LISTS];
  const convoy_tensor *rate;
  convoy_tensor *step; /* NULL: it does not count */
} descent;

static convoy_status check_options(const convoy_sgd_options *o) {
  convoy_status status = cvy_check_struct("options", o, sizeof *o, false);
  if (status) return status;
  if (!(o->momentum >= 0.0 && o->momentum < 1e30) || !(o->decay >= 0.0 && o->decay < 1e30))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "momentum is %g and decay %g, legal are 0 to 1e30",
                    o->momentum, o->decay);
  if (!(o->dampening >= 0.0 && o->dampening <= 1.0))
    return cvy_fail(CONVOY_ERR_ARGUMENT, "dampening is %g, legal are 0 to 1", o->dampening);
  if (o->nesterov && (o->momentum == 0.0 || o->dampening != 0.0))
    return cvy_fail(CONVOY_ERR_ARGUMENT,
                    "Nesterov's momentum is %g with dampening %g; it needs one, and no dampening",
                    o->momentum, o->dampening);
  return CONVOY_OK;
}

static convoy_status check(const descent *d) {
  bool has_state = d->options->momentum != 0.0;
  const cvy_pointer given[] = {{"rate", d->rate}};
  convoy_status status = cvy_lists_check(d->count, d->list, has_state ? LISTS : V);
  if (!status) status = cvy_check_pointers(given, CVY_COUNT(given));
  if (status || d->options->dampening == 0.0 || d->step) return status;
  return cvy_fail(CONVOY_ERR_ARGUMENT, "step is NULL, which the first step's dampening needs");
}

/* What d is multiplied by on its way into the momentum. */
static cvy_view find_gain(cvy_composition *c, const descent *d) {
  const int64_t one = 1;
  if (!d->step) return cvy_view_of(cvy_compose_number(c, 1.0));
  cvy_view gain = cvy_view_of(cvy_compose_new(c, 1, &one));
  cvy_view step = cvy_view_as(d->step, 1, 1, 1, 1);
  cvy_compose(
      c, CVY_NN_SGD_NUMBERS,
      (const cvy_view[]){step, cvy_view_of(cvy_compose_number(c, 1.0 - d->options->dampening)),
                         cvy_view_as(gain.tensor, 1, 1, 1, 1),
                         cvy_view_as(cvy_compose_output(c, d->step), 1, 1, 1, 1)});
  return gain;
}

static void descend(cvy_composition *c, const descent *d, int32_t i, cvy_view gain) {
  cvy_view w = cvy_view_of(d->list[W].tensor[i]), g = cvy_view_of(d->list[G].tensor[i]);
  cvy_view rate = cvy_view_of(d->rate),
           decay = cvy_view_of(cvy_compose_number(c, d->options->decay));
  if (d->options->momentum == 0.0) {
    cvy_compose(c, CVY_NN_SGD,
                (const cvy_view[]){w, rate, g, decay,
                                   cvy_view_of(cvy_compose_output(c, d->list[W].tensor[i]))});
    return;
  }
  cvy_compose(
      c, d->options->nesterov ? CVY_NN_NESTEROV : CVY_NN_MOMENTUM,
      (const cvy_view[]){g, decay, w, cvy_view_of(cvy_compose_number(c, d->options->momentum)),
                         cvy_view_of(d->list[V].tensor[i]), gain, rate,
                         cvy_view_of(cvy_compose_output(c, d->list[V].tensor[i])),
                         cvy_view_of(cvy_compose_output(c, d->list[W].tensor[i]))});
}

static void descend_all(cvy_composition *c, const descent *d) {
  int32_t lists = d->options->momentum != 0.0 ? LISTS : V;
  if (!cvy_lists_check_extents(c, d->count, d->list, lists) ||
      !cvy_compose_check_number(c, "rate", d->rate) ||
      (d->step && !cvy_compose_check_number(c, "step", d->step)))
    return;
  cvy_view gain = find_gain(c, d);
  for (int32_t i = 0; i < d->count; i++) descend(c, d, i, gain);
}

convoy_status convoy_sgd(convoy_context *context, const convoy_sgd_options *options, int32_t count,
                         convoy_tensor *const w[], convoy_tensor *const g[],
                         convoy_tensor *const v[], const convoy_tensor *rate, convoy_tensor *step,
                         convoy_run *run) {
  static const convoy_sgd_options defaults = CONVOY_SGD_INIT;
  cvy_composition c;
  const descent d = {
      options ? options : &defaults, count, {{"w", w}, {"g", g}, {"v", v}}, rate, step};
  convoy_status status = check_options(d.options);
  if (!status) status = check(&d);
  if (!status) status = cvy_composition_begin(&c, context, run);
  if (status) return status;
  descend_all(&c, &d);
  return cvy_composition_end(&c);
}
