/* cpu.winograd: 3x3 convolution with stride 1 in 2.25 (2x2 tiles) or 4 (4x4 tiles) times fewer
 * products. Its results have a larger error bound than others: see convoy.h, Accuracy. */
#include "cpu/shared/workspace.h"
#include "cpu/winograd/backward_weights.h"
#include "cpu/winograd/maps.h"
#include "problem/conv/conv.h"

#define ERROR_GROWTH 4
#define ERROR_REACH 3 /* m - 1: so far a tile's window goes beyond that of one of its outputs */

/* What is measured of maps and of gradients of weights, in products of the microkernel: a product
 * of the direct sum, and an element of a transformed tile, or of a filter or its gradient where all
 * are near or too many for any cache. */
typedef struct winograd_costs {
  double product, tile, filter, far_filter;
} winograd_costs;
static const winograd_costs of_maps = {1, 38, 15, 15}, of_weights = {1.25, 30, 10, 28};

#define NEAR_FLOATS 4194304 /* of filters */

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

/* Whether products that are saved cost more than transforms: not with few channels, nor where tiles
 * jut out over small maps, nor where few tiles meet many filters. However many threads there are
 * the answer is the same, and with it the bits. */
static bool pays(const cvy_problem *p, const cvy_facts *facts) {
  const int64_t *map = p->operation == CONVOY_BACKWARD_DATA ? p->conv.in : p->conv.out;
  double channels = (double)p->conv.c / (double)p->conv.groups;
  double outputs = (double)p->conv.k / (double)p->conv.groups, filters = channels * outputs;
  cvy_params params;
  defaults(p, facts, &params);
  int64_t m = params.value[0], side = m + 2;
  double images = (double)p->conv.n, points = (double)(side * side);
  double tiles = images * (double)(cvy_div_up(map[1], m) * cvy_div_up(map[2], m));
  const winograd_costs *cost = p->operation == CONVOY_BACKWARD_WEIGHTS ? &of_weights : &of_maps;
  bool near = points * filters <= NEAR_FLOATS;
  double direct = cost->product * 9 * filters * images * (double)(map[1] * map[2]);
  double transforms = cost->tile * tiles * (channels + outputs);
  transforms += (near ? cost->filter : cost->far_filter) * filters;
  return points * (filters * tiles + transforms) < direct;
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
