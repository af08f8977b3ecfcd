/* cpu.winograd: 3x3 convolution with stride 1 in 2.25 (2x2 tiles) or 4 (4x4 tiles) times fewer
 * products. Its results have a larger error bound than others: see convoy.h, Accuracy. */
#include "cpu/shared/workspace.h"
#include "cpu/winograd/backward_weights.h"
#include "cpu/winograd/maps.h"
#include "problem/conv/conv.h"

#define ERROR_GROWTH 4
#define ERROR_REACH 3 /* m - 1: so far a tile's window goes beyond that of one of its outputs */

#define LEAST_CHANNELS 24
#define LEAST_PLACES 256 /* of the result */
#define LEAST_TILES 8    /* for transient filters to be used often enough */
#define LEAST_OUTPUTS 8  /* kernel tiles, for threads to share where filters are transient */

/* Whether filters are of 3 x 3 and move a place at a time, over padding that is not negative either
 * way round. */
static bool fits(const cvy_problem *p) {
  for (int i = 1; i < 3; i++) {
    if (p->conv.filter[i] != 3 || p->conv.stride[i] != 1 || p->conv.dilation[i] != 1 ||
        p->conv.pad[i] > 2)
      return false;
  }
  return p->conv.filter[0] == 1 && p->conv.in[0] == 1 && p->conv.out[0] == 1 &&
         p->conv.stride[0] == 1 && p->conv.pad[0] == 0;
}

static int64_t bytes_for(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  if (problem->operation == CONVOY_BACKWARD_WEIGHTS) {
    cvy_cpu_winograd_weights_plan plan = cvy_cpu_winograd_weights_plan_for(problem, facts, params);
    return cvy_cpu_winograd_weights_bytes(&plan);
  }
  cvy_cpu_winograd_maps_plan plan = cvy_cpu_winograd_maps_plan_for(problem, facts, params);
  return cvy_cpu_winograd_maps_bytes(&plan);
}

static const cvy_param parameters[] = {{"TILE", {2, 4}}, {NULL, {0}}};

static void defaults(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out) {
  (void)problem;
  (void)facts;
  *out = (cvy_params){{4}};
}

/* With fewer channels on one side the transforms cost what the products save, and with few tiles
 * there is not enough of either for several threads. This was measured. However many there are the
 * answer is the same, and with it the bits. */
static bool pays(const cvy_problem *problem, const cvy_facts *facts) {
  int64_t channels = problem->conv.c / problem->conv.groups,
          outputs = problem->conv.k / problem->conv.groups;
  if (channels < LEAST_CHANNELS || outputs < LEAST_CHANNELS) return false;
  if (problem->operation != CONVOY_BACKWARD_WEIGHTS) {
    cvy_params params;
    cvy_facts alone = *facts;
    alone.info.compute_units = 1;
    defaults(problem, facts, &params);
    cvy_cpu_winograd_maps_plan plan = cvy_cpu_winograd_maps_plan_for(problem, &alone, &params);
    if (plan.transient)
      return plan.tiling.tiles >= LEAST_TILES && plan.tiling.kernel_tiles >= LEAST_OUTPUTS;
  }
  return problem->conv.n * cvy_out_volume(problem) >= LEAST_PLACES;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  if (!fits(problem)) {
    cvy_text_add(reason, "it is for filters of 3x3 with stride and dilation 1, padding up to 2");
    return false;
  }
  cvy_params params;
  defaults(problem, facts, &params);
  return cvy_cpu_fits(bytes_for(problem, facts, &params), facts, reason);
}

static void run(const cvy_cpu_call *call) {
  if (call->problem->operation == CONVOY_BACKWARD_WEIGHTS)
    cvy_cpu_winograd_weights(call);
  else
    cvy_cpu_winograd_maps(call);
}

const cvy_cpu_row cvy_cpu_winograd = {{.name = "cpu.winograd",
                                       .operations = CVY_CONV_FILTERED,
                                       .accepts = accepts,
                                       .workspace = bytes_for,
                                       .params = parameters,
                                       .defaults = defaults,
                                       .pays = pays,
                                       .error_growth = ERROR_GROWTH,
                                       .error_reach = ERROR_REACH},
                                      run};
