/* The largest first, each as low as those allow that are there at the same time: greedy by size, as
 * inference engines have it. Memory is one row of addresses, which is cut into blocks; a value does
 * not lie across a cut. */
#include "core/graph/place.h"

#include <stdlib.h>

#include "core/graph/occupied.h"

typedef struct interval {
  int32_t value, first, last; /* the nodes from which and until which it is there */
  int64_t bytes, at;
} interval;

typedef struct row {
  interval *interval;
  int32_t count;
  int64_t most_bytes, end;
  cvy_occupied occupied;
} row;

static convoy_status put(row *r, const interval *new) {
  const cvy_moments span = {new->first, new->last};
  interval *placed = &r->interval[r->count++];
  *placed = *new;
  placed->at = cvy_occupied_least(&r->occupied, span, new->bytes, r->most_bytes);
  if (placed->at + new->bytes > r->end) r->end = placed->at + new->bytes;
  return cvy_occupied_add(&r->occupied, span, placed->at, new->bytes);
}

/* Which of two is placed first. */
static int larger_first(const void *left, const void *right) {
  const interval *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->value < b->value ? -1 : 1;
}

static int32_t blocks_of(const row *r) {
  return (int32_t)((r->end + r->most_bytes - 1) / r->most_bytes);
}

/* Their bytes, and where in them the intervals lie. */
static void note(const row *r, int32_t first_base, cvy_places *out) {
  int32_t blocks = blocks_of(r);
  for (int32_t b = 0; b < blocks; b++) {
    int64_t left = r->end - b * r->most_bytes;
    out->bytes[first_base + b] = left < r->most_bytes ? left : r->most_bytes;
  }
  for (int32_t i = 0; i < r->count; i++) {
    const interval *p = &r->interval[i];
    out->base[p->value] = first_base + (int32_t)(p->at / r->most_bytes);
    out->at[p->value] = p->at % r->most_bytes;
  }
}

/* ---------------------------------------------------------------------------------- what is made
 */

static bool is_shared(const cvy_graph_value *value) {
  return !value->tensor && !value->kept && value->bytes > 0 && value->inside < 0;
}

/* What lies within another value is there as long as that; NOT_THERE yet. */
enum { NOT_THERE = -1 };

static int32_t find_shared(const cvy_plan *plan, interval *out) {
  const cvy_nodes *list = &plan->list;
  int32_t count = 0;
  for (int32_t v = 0; v < list->values; v++)
    out[v] = (interval){v, NOT_THERE, 0, cvy_block_aligned(list->value[v].bytes), 0};
  for (int32_t n = 0; n < list->nodes; n++) {
    const cvy_graph_node *node = &list->node[n];
    for (int32_t i = 0; i < node->outputs; i++) {
      const cvy_graph_value *value = &list->value[node->out[i]];
      interval *whole = &out[value->inside < 0 ? node->out[i] : value->inside];
      if (whole->first == NOT_THERE) whole->first = n;
      if (n > whole->last) whole->last = n;
      if (value->last_use > whole->last) whole->last = value->last_use;
    }
  }
  for (int32_t v = 0; v < list->values; v++)
    if (out[v].first != NOT_THERE && is_shared(&list->value[v])) out[count++] = out[v];
  return count;
}

/* A value that several tensors get lies in one place; with the first of them. */
static bool is_first(const cvy_plan *plan, int32_t output) {
  return plan->list.value[plan->result[output]].first_output == output;
}

static bool is_home(const cvy_plan *plan, int32_t output) {
  const cvy_graph_value *value = &plan->list.value[plan->result[output]];
  return plan->foreign[output] && !plan->carried[output] && !value->tensor && value->bytes > 0 &&
         is_first(plan, output) && value->last_output == output;
}

static int32_t find_own(const cvy_plan *plan, bool carried, interval *out) {
  int32_t count = 0;
  for (int32_t i = 0; i < plan->outputs; i++) {
    const cvy_graph_value *value = &plan->list.value[plan->result[i]];
    if (plan->carried[i] != carried || value->tensor || !value->bytes || !is_first(plan, i) ||
        is_home(plan, i))
      continue;
    out[count++] =
        (interval){plan->result[i], 0, plan->list.nodes, cvy_block_aligned(value->bytes), 0};
  }
  return count;
}

/* ------------------------------------------------------------------------------------------ all */

static convoy_status check(const interval *intervals, int32_t count, int64_t most_bytes) {
  for (int32_t i = 0; i < count; i++) {
    if (intervals[i].bytes > most_bytes)
      return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                      "a result has %lld bytes, and the device allocates %lld at once",
                      (long long)intervals[i].bytes, (long long)most_bytes);
  }
  return CONVOY_OK;
}

/* What is made on the way in the order of size; what tensors get in the order of the outputs. */
static convoy_status fill(const cvy_plan *plan, row *r, interval *intervals, int32_t count,
                          bool by_size) {
  convoy_status status = cvy_occupied_open(plan->list.nodes + 1, &r->occupied);
  if (status) return status;
  if (by_size) qsort(intervals, (size_t)count, sizeof *intervals, larger_first);
  for (int32_t i = 0; i < count && !status; i++) status = put(r, &intervals[i]);
  cvy_occupied_close(&r->occupied);
  return status;
}

enum { SHARED, CARRIED, REST, ROWS };

static convoy_status fill_rows(const cvy_plan *plan, interval *intervals, row *rows) {
  convoy_status status = CONVOY_OK;
  for (int k = 0; k < ROWS && !status; k++) {
    int32_t count =
        k == SHARED ? find_shared(plan, intervals) : find_own(plan, k == CARRIED, intervals);
    status = check(intervals, count, rows[k].most_bytes);
    if (!status) status = fill(plan, &rows[k], intervals, count, k == SHARED);
  }
  return status;
}

static convoy_status make_room(const cvy_plan *plan, int32_t blocks, cvy_places *out) {
  size_t values = (size_t)plan->list.values + 1;
  out->bytes = calloc((size_t)blocks + 1, sizeof *out->bytes);
  out->base = malloc(values * sizeof *out->base);
  out->at = calloc(values, sizeof *out->at);
  out->home = calloc((size_t)plan->outputs + 1, sizeof *out->home);
  if (out->bytes && out->base && out->at && out->home) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
}

static void note_parts(const cvy_plan *plan, cvy_places *out) {
  for (int32_t v = 0; v < plan->list.values; v++) {
    const cvy_graph_value *value = &plan->list.value[v];
    if (value->inside < 0) continue;
    out->base[v] = out->base[value->inside];
    out->at[v] = out->at[value->inside] + value->region.at * (int64_t)sizeof(float);
  }
}

static int32_t count_homes(const cvy_plan *plan) {
  int32_t count = 0;
  for (int32_t i = 0; i < plan->outputs; i++) count += is_home(plan, i);
  return count;
}

/* Inputs and homes. */
static void note_tensors(const cvy_plan *plan, cvy_places *out) {
  int32_t base = out->shared + out->own;
  for (int32_t i = 0; i < plan->inputs; i++, base++)
    if (plan->list.value[plan->input[i]].bytes > 0) out->base[plan->input[i]] = base;
  for (int32_t i = 0; i < plan->outputs; i++)
    if ((out->home[i] = is_home(plan, i))) out->base[plan->result[i]] = base++;
}

static convoy_status note_all(const cvy_plan *plan, const row *rows, cvy_places *out) {
  out->shared = blocks_of(&rows[SHARED]);
  out->own = blocks_of(&rows[CARRIED]) + blocks_of(&rows[REST]);
  out->homes = count_homes(plan);
  out->bases = out->shared + out->own + plan->inputs + out->homes;
  convoy_status status = make_room(plan, out->shared + out->own, out);
  if (status) return status;
  for (int32_t v = 0; v < plan->list.values; v++) out->base[v] = CVY_NOWHERE;
  note(&rows[SHARED], 0, out);
  note(&rows[CARRIED], out->shared, out);
  note(&rows[REST], out->shared + blocks_of(&rows[CARRIED]), out);
  note_tensors(plan, out);
  note_parts(plan, out);
  return CONVOY_OK;
}

static int64_t most_bytes_of(const cvy_plan *plan) {
  int64_t most = plan->engine->facts.max_allocation_bytes; /* 0: it is not known */
  return (most > 0 ? most : INT64_C(1) << 46) / CVY_PLACE_ALIGN * CVY_PLACE_ALIGN;
}

convoy_status cvy_places_find(const cvy_plan *plan, cvy_places *out) {
  size_t most = (size_t)plan->list.values + 1;
  int64_t block = most_bytes_of(plan);
  interval *intervals = malloc((1 + ROWS) * most * sizeof *intervals);
  *out = (cvy_places){0};
  if (!intervals) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory for a plan");
  row rows[ROWS];
  for (int k = 0; k < ROWS; k++)
    rows[k] = (row){.interval = intervals + (size_t)(1 + k) * most, .most_bytes = block};
  convoy_status status = fill_rows(plan, intervals, rows);
  if (!status) status = note_all(plan, rows, out);
  if (status) cvy_places_free(out);
  free(intervals);
  return status;
}

void cvy_places_free(cvy_places *places) {
  free(places->bytes);
  free(places->base);
  free(places->at);
  free(places->home);
  *places = (cvy_places){0};
}
