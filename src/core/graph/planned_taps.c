/* Excerpts of a plan's operations. */
#include "core/graph/planned_taps.h"

#include <stdlib.h>

#include "core/exec/device.h"
#include "core/exec/launch.h"
#include "core/exec/recover.h"
#include "core/graph/device_plan.h"
#include "core/graph/taps.h"
#include "os/os.h"

/* What would travel to the host for one sample; of most problems an excerpt is far less. */
#define MOST_BYTES (INT64_C(8) << 20)

struct cvy_planned_tap {
  cvy_plan *plan;
  int32_t node;
  cvy_choice choice;
  int64_t number;    /* of the operation */
  uint64_t ticket;   /* of its run; 0: not enqueued */
  cvy_store *copies; /* of all arrays of the excerpt: of what it reads, then of what it makes */
  cvy_excerpt excerpt;
};

static cvy_planned_tap **turn_of(convoy_graph *graph) {
  return &graph->planned_tap[graph->runs % CVY_GRAPH_OUTSTANDING];
}

void cvy_planned_tap_drop(cvy_planned_tap *tap) {
  if (!tap) return;
  cvy_store_drop(tap->copies);
  cvy_plan_drop(tap->plan);
  free(tap);
}

/* ---------------------------------------------------------------------------------------- taking
 */

/* What begins at multiples of 8 bytes does so in the copies, too. */
static int64_t room_of(const cvy_stretches *part) {
  return (part->bytes * part->count + 7) / 8 * 8;
}

static int64_t copied_bytes(const cvy_excerpt *excerpt) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < cvy_problem_reads(&excerpt->problem); i++)
    bytes += room_of(&excerpt->in[i]);
  for (int32_t i = 0; i < cvy_problem_outputs(&excerpt->problem); i++)
    bytes += room_of(&excerpt->out[i]);
  return bytes;
}

static cvy_planned_tap *new_tap(const convoy_graph *graph, int32_t n) {
  cvy_planned_tap *tap = calloc(1, sizeof *tap);
  if (!tap) return NULL;
  tap->plan = cvy_plan_keep(graph->plan);
  tap->node = n;
  tap->choice = graph->plan->device->choice[n];
  tap->number = graph->context->verification.operations + 1 + n;
  cvy_problem_excerpt(graph->plan->list.node[n].problem, (uint64_t)tap->number, &tap->excerpt);
  cvy_problem_set_run(&tap->excerpt.problem, graph->runs);
  int64_t bytes = copied_bytes(&tap->excerpt);
  if (bytes <= MOST_BYTES) tap->copies = cvy_store_new(graph->context, bytes);
  if (tap->copies) return tap;
  cvy_planned_tap_drop(tap);
  return NULL;
}

/* The last of the node's steps is its job. */
static int32_t step_of(const cvy_device_plan *made, int32_t n) {
  int32_t step = made->steps - 1;
  while (step >= 0 && made->step[step] != n) step--;
  return step;
}

static cvy_operand place_of(const cvy_device_plan *made, int32_t value) {
  return cvy_place(made->places.base[value], made->places.at[value]);
}

static void add(cvy_tap *taps, int32_t *count, cvy_operand from, const cvy_stretches *part,
                int32_t after, int64_t *to) {
  if (part->bytes > 0)
    taps[(*count)++] = (cvy_tap){.from = from,
                                 .offset = part->at,
                                 .bytes = part->bytes,
                                 .stride = part->stride,
                                 .to = *to,
                                 .count = (int32_t)part->count,
                                 .after = after};
  *to += room_of(part);
}

static convoy_status ask(const cvy_planned_tap *tap) {
  const cvy_device_plan *made = tap->plan->device;
  const cvy_graph_node *node = &tap->plan->list.node[tap->node];
  cvy_tap taps[CVY_MAX_TAPS];
  int32_t count = 0;
  int64_t to = 0;
  for (int32_t i = 0; i < node->inputs; i++)
    add(taps, &count, place_of(made, node->in[i]), &tap->excerpt.in[i], 0, &to);
  for (int32_t i = 0; i < node->outputs; i++)
    add(taps, &count, place_of(made, node->out[i]), &tap->excerpt.out[i], 1, &to);
  return cvy_launch_tap(tap->copies, made->number, step_of(made, tap->node), count, taps);
}

/* A tap that cannot be taken for lack of memory is left out. */
convoy_status cvy_planned_tap_begin(convoy_graph *graph) {
  cvy_planned_tap **turn = turn_of(graph);
  graph->untapped += graph->plan->list.nodes;
  if (*turn || graph->untapped < CVY_SAMPLED_EVERY) return CONVOY_OK;
  int32_t n = cvy_tap_choose(graph);
  cvy_planned_tap *tap = n < 0 ? NULL : new_tap(graph, n);
  if (!tap) return CONVOY_OK;
  graph->untapped = 0;
  convoy_status status = cvy_launch_room(tap->copies);
  if (!status) status = ask(tap);
  if (status)
    cvy_planned_tap_drop(tap);
  else
    *turn = tap;
  return status;
}

convoy_status cvy_planned_tap_enqueued(convoy_graph *graph) {
  cvy_planned_tap *tap = *turn_of(graph);
  if (!tap || tap->ticket) return CONVOY_OK;
  tap->ticket = tap->copies->ticket = graph->context->last_ticket;
  return cvy_fetch(tap->copies);
}

/* --------------------------------------------------------------------------------------- judging
 */

static const float *next_part(const cvy_stretches *part, const char **at) {
  const float *values = (const float *)(const void *)*at;
  *at += room_of(part);
  return values;
}

static convoy_status judge(convoy_context *context, const cvy_planned_tap *tap,
                           const float *copies) {
  const cvy_carried_out what = {tap->plan->list.node[tap->node].problem, &tap->choice, tap->number,
                                tap->ticket};
  const float *in[CVY_MOST_READ], *out[CVY_MAX_OUTPUTS];
  const char *at = (const char *)copies;
  cvy_mismatch found;
  bool right;
  for (int32_t i = 0; i < cvy_problem_reads(&tap->excerpt.problem); i++)
    in[i] = next_part(&tap->excerpt.in[i], &at);
  for (int32_t i = 0; i < cvy_problem_outputs(&tap->excerpt.problem); i++)
    out[i] = next_part(&tap->excerpt.out[i], &at);
  convoy_status status =
      cvy_verification_judge_excerpt(context, &what, &tap->excerpt, in, out, &right, &found);
  if (status) return status;
  if (!right)
    return cvy_recover_wrong(context, &what, cvy_verification_wrong(context, &what, &found));
  cvy_verification_right(context, &what);
  return CONVOY_OK;
}

/* The values are read for this only. A fault that has taken them has been dealt with. */
static convoy_status verify(const cvy_planned_tap *tap) {
  cvy_store *copies = tap->copies;
  convoy_context *context = copies->context;
  float *values;
  if (!copies->array || !tap->ticket) return CONVOY_OK;
  convoy_status status = cvy_values_new(copies, &values);
  if (status) return status;
  status = cvy_read_back(copies, values);
  double began = cvy_verification_begin(context);
  if (!status) status = judge(context, tap, values);
  cvy_verification_spend(context, began);
  cvy_verification_end(context, began);
  cvy_values_drop(copies, values);
  return context->options.failover ? CONVOY_OK : status;
}

convoy_status cvy_planned_tap_verify(convoy_graph *graph) {
  cvy_planned_tap **turn = turn_of(graph);
  cvy_planned_tap *tap = *turn;
  *turn = NULL;
  if (!tap) return CONVOY_OK;
  convoy_status status = verify(tap);
  cvy_planned_tap_drop(tap);
  return status;
}
