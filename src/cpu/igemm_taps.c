/* Which taps the phases of a map use, and where they read. */
#include "cpu/igemm.h"

void cvy_igemm_phase(const cvy_igemm_plan *plan, int64_t phase, int64_t remainder[3]) {
  for (int i = 2; i >= 0; i--) {
    int64_t stride = plan->data ? plan->whole.stride[i] : 1;
    remainder[i] = phase % stride;
    phase /= stride;
  }
}

static void split(const cvy_problem *p, int64_t tap, int64_t at[3]) {
  at[2] = tap % p->filter[2];
  at[1] = tap / p->filter[2] % p->filter[1];
  at[0] = tap / p->filter[2] / p->filter[1];
}

static bool belongs(const cvy_igemm_plan *plan, int64_t tap, const int64_t remainder[3]) {
  const cvy_problem *p = &plan->whole;
  int64_t at[3];
  split(p, tap, at);
  for (int i = 0; i < 3; i++)
    if (plan->data && at[i] * p->dilation[i] % p->stride[i] != remainder[i]) return false;
  return true;
}

void cvy_igemm_order(const cvy_igemm_plan *plan, int64_t *begin, int64_t *order) {
  int64_t count = 0;
  for (int64_t phase = 0; phase < plan->phases; phase++) {
    int64_t remainder[3];
    cvy_igemm_phase(plan, phase, remainder);
    begin[phase] = count;
    for (int64_t tap = 0; tap < plan->taps; tap++)
      if (belongs(plan, tap, remainder)) order[count++] = tap;
  }
  begin[plan->phases] = count;
}

/* In backward_data the last tap reads the first place. */
int64_t cvy_igemm_tap(const cvy_igemm_plan *plan, const cvy_planes_layout *layout, int64_t tap) {
  const cvy_problem *p = &plan->whole;
  int64_t at[3];
  split(p, tap, at);
  for (int i = 0; i < 3 && plan->data; i++)
    at[i] = plan->p.filter[i] - 1 - at[i] * p->dilation[i] / p->stride[i];
  return cvy_planes_tap(layout, at[0], at[1], at[2]);
}
