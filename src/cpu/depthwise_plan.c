/* The memory of cpu.depthwise, and its lists of taps. */
#include "cpu/depthwise.h"
#include "cpu/merge.h"
#include "cpu/span.h"

#define FLOATS_PER_LINE 16
#define WIDEST 16 /* floats of the widest vector: what may be read and written behind an array */
#define PLACE_FLOATS 2 /* a place is as large as two floats */

static int64_t up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* Places from the first tap to the last one of any phase. */
static int64_t reach_of(const cvy_depthwise_plan *plan) {
  const cvy_problem *p = &plan->p;
  int64_t reach = 0;
  for (int i = 0; i < 3; i++)
    reach = cvy_times(reach, plan->layout.extent[i]) +
            (p->filter[i] - 1) * p->dilation[i] / p->stride[i];
  return reach;
}

void cvy_depthwise_cut(const cvy_problem *problem, const cvy_facts *facts,
                       cvy_depthwise_plan *out) {
  *out = (cvy_depthwise_plan){.p = cvy_merged(problem), .slots = facts->info.compute_units};
  const cvy_problem *p = &out->p;
  int64_t taps = cvy_filter_volume(p);
  out->layout = cvy_planes_layout_of(p);
  out->outputs = p->k / p->groups;
  const int64_t *phases = out->layout.phases; /* those that a filter 1 wide reads, no more */
  out->phases = cvy_times(cvy_times(phases[0], phases[1]), phases[2]);
  /* Where taps lie far apart, most places see no dy at most of them. */
  out->dense = out->layout.plane <= 2 * out->layout.y_floats;
  bool data = p->direction == CONVOY_BACKWARD_DATA && out->dense;
  out->reach = data ? up(reach_of(out), FLOATS_PER_LINE) : 0;
  int64_t y = data ? out->layout.plane : out->layout.y_floats;
  out->x_floats = up(out->layout.x_floats, FLOATS_PER_LINE) + WIDEST;
  out->y_pitch = out->reach + up(y, FLOATS_PER_LINE) + WIDEST;
  out->y_floats = cvy_times(out->outputs, out->y_pitch);
  int64_t all = taps * out->outputs;
  out->list_floats = up(cvy_times(PLACE_FLOATS, 2 * all + out->phases + 1), FLOATS_PER_LINE);
  out->slot_floats = out->x_floats + out->y_floats + up(all, FLOATS_PER_LINE);
}

int64_t cvy_depthwise_bytes(const cvy_depthwise_plan *plan) {
  int64_t floats = cvy_times(plan->slots, plan->slot_floats) + plan->list_floats;
  return cvy_times(floats, (int64_t)sizeof(float));
}

/* ----------------------------------------------------------------------------------- lists */

/* Tap number `tap` of a filter: where it reads in the planes of x. */
static int64_t place_of(const cvy_depthwise_plan *plan, int64_t tap) {
  const int64_t *f = plan->p.filter;
  return cvy_planes_tap(&plan->layout, tap / f[2] / f[1], tap / f[2] % f[1], tap % f[2]);
}

/* Phase by phase, of all outputs of the group: a tap of phase i gives place u of that phase's plane
 * what is at place u + shift of the first output's dy. */
static void list_phases(cvy_depthwise *d) {
  const cvy_depthwise_plan *plan = &d->plan;
  int64_t taps = cvy_filter_volume(&plan->p), plane = plan->layout.plane, count = 0;
  for (int64_t i = 0; i < plan->phases; i++) {
    d->begin[i] = count;
    for (int64_t t = 0; t < taps * plan->outputs; t++) {
      int64_t place = place_of(plan, t % taps);
      if (place / plane != i) continue;
      d->order[count] = t;
      d->shift[count++] = t / taps * plan->y_pitch - place % plane;
    }
  }
  d->begin[plan->phases] = count;
}

void cvy_depthwise_list(cvy_depthwise *d) {
  const cvy_depthwise_plan *plan = &d->plan;
  int64_t taps = cvy_filter_volume(&plan->p);
  d->shift = d->call->workspace;
  d->order = d->shift + taps * plan->outputs;
  d->begin = d->order + taps * plan->outputs;
  d->slots = (float *)d->call->workspace + plan->list_floats;
  if (plan->p.direction == CONVOY_BACKWARD_DATA && plan->dense) {
    list_phases(d);
    return;
  }
  for (int64_t t = 0; t < taps; t++) d->shift[t] = place_of(plan, t);
}
