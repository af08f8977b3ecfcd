/* Which taps the phases of a map use, and where they read. */
#include <string.h>

#include "cpu/implicit_gemm/maps.h"

void cvy_cpu_implicit_gemm_phase(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t phase,
                                 int64_t remainder[3]) {
  for (int i = 2; i >= 0; i--) {
    int64_t stride = plan->data ? plan->whole.conv.stride[i] : 1;
    remainder[i] = phase % stride;
    phase /= stride;
  }
}

static void split(const cvy_problem *p, int64_t tap, int64_t at[3]) {
  at[2] = tap % p->conv.filter[2];
  at[1] = tap / p->conv.filter[2] % p->conv.filter[1];
  at[0] = tap / p->conv.filter[2] / p->conv.filter[1];
}

/* The only phase that uses a tap, counted as in cvy_cpu_implicit_gemm_phase. */
static int64_t phase_using(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t tap) {
  const cvy_problem *p = &plan->whole;
  int64_t at[3], phase = 0;
  split(p, tap, at);
  for (int i = 0; i < 3 && plan->data; i++)
    phase = phase * p->conv.stride[i] + at[i] * p->conv.dilation[i] % p->conv.stride[i];
  return phase;
}

/* Sorts by counting: with strides as large as the filter there are as many phases as taps. Filled
 * from the last tap on, from each phase's end down to its begin. */
void cvy_cpu_implicit_gemm_order(const cvy_cpu_implicit_gemm_maps_plan *plan, int64_t *begin,
                                 int64_t *order) {
  memset(begin, 0, (size_t)(plan->phases + 1) * sizeof *begin);
  for (int64_t tap = 0; tap < plan->taps; tap++) begin[phase_using(plan, tap)]++;
  for (int64_t phase = 1; phase <= plan->phases; phase++) begin[phase] += begin[phase - 1];
  for (int64_t tap = plan->taps - 1; tap >= 0; tap--) order[--begin[phase_using(plan, tap)]] = tap;
}

/* In backward_data the last tap reads the first place. */
int64_t cvy_cpu_implicit_gemm_tap(const cvy_cpu_implicit_gemm_maps_plan *plan,
                                  const cvy_planes_layout *layout, int64_t tap) {
  const cvy_problem *p = &plan->whole;
  int64_t at[3];
  split(p, tap, at);
  for (int i = 0; i < 3 && plan->data; i++)
    at[i] = plan->p.conv.filter[i] - 1 - at[i] * p->conv.dilation[i] / p->conv.stride[i];
  return cvy_planes_tap(layout, at[0], at[1], at[2]);
}
