/* A tree over time, whose nodes have runs of addresses. */
#include "core/graph/occupied.h"

#include <stdlib.h>
#include <string.h>

convoy_status cvy_occupied_open(int32_t moments, cvy_occupied *out) {
  *out = (cvy_occupied){.leaves = 1};
  while (out->leaves < moments) out->leaves *= 2;
  out->always = calloc(2 * (size_t)out->leaves, sizeof *out->always);
  out->ever = calloc(2 * (size_t)out->leaves, sizeof *out->ever);
  if (out->always && out->ever) return CONVOY_OK;
  free(out->always);
  free(out->ever);
  return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to place values in");
}

void cvy_occupied_close(cvy_occupied *occupied) {
  for (int32_t node = 0; node < 2 * occupied->leaves; node++) {
    free(occupied->always[node].run);
    free(occupied->ever[node].run);
  }
  free(occupied->always);
  free(occupied->ever);
}

/* ---------------------------------------------------------------------------------------- runs */

/* The first that ends behind `at`, or how many there are. */
static int32_t first_behind(const cvy_runs *runs, int64_t at) {
  int32_t low = 0, high = runs->count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (runs->run[middle].end > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The least address from `at` on where so many bytes are free of them. */
static int64_t past(const cvy_runs *runs, int64_t at, int64_t bytes) {
  for (int32_t i = first_behind(runs, at); i < runs->count && runs->run[i].begin < at + bytes; i++)
    at = runs->run[i].end;
  return at;
}

static convoy_status make_room(cvy_runs *runs) {
  if (runs->count < runs->room) return CONVOY_OK;
  int32_t room = 2 * runs->room + 2;
  cvy_run *grown = realloc(runs->run, (size_t)room * sizeof *grown);
  if (!grown) return cvy_fail(CONVOY_ERR_MEMORY, "no host memory to place values in");
  runs->run = grown;
  runs->room = room;
  return CONVOY_OK;
}

/* What it touches becomes one with it. */
static convoy_status add(cvy_runs *runs, cvy_run new) {
  convoy_status status = make_room(runs);
  if (status) return status;
  int32_t first = first_behind(runs, new.begin - 1), end = first;
  for (; end < runs->count && runs->run[end].begin <= new.end; end++) {
    if (runs->run[end].begin < new.begin) new.begin = runs->run[end].begin;
    if (runs->run[end].end > new.end) new.end = runs->run[end].end;
  }
  memmove(&runs->run[first + 1], &runs->run[end], (size_t)(runs->count - end) * sizeof *runs->run);
  runs->run[first] = new;
  runs->count += first + 1 - end;
  return CONVOY_OK;
}

/* ---------------------------------------------------------------------------------------- time */

/* Two on each level of the tree, at most: the largest that lie within the span. */
enum { MOST_PARTS = 2 * 32 };

static int32_t find_parts(const cvy_occupied *occupied, cvy_moments span, int32_t *part) {
  int32_t count = 0, first = span.first + occupied->leaves, end = span.last + occupied->leaves + 1;
  for (; first < end; first /= 2, end /= 2) {
    if (first % 2) part[count++] = first++;
    if (end % 2) part[count++] = --end;
  }
  return count;
}

/* Runs that can be in the way: of the parts of the span, and of all that its ends are parts of. */
static int32_t find_runs(const cvy_occupied *occupied, cvy_moments span, const cvy_runs **found) {
  int32_t part[MOST_PARTS], parts = find_parts(occupied, span, part), count = 0;
  for (int32_t i = 0; i < parts; i++)
    if (occupied->ever[part[i]].count) found[count++] = &occupied->ever[part[i]];
  int32_t first = span.first + occupied->leaves, last = span.last + occupied->leaves;
  for (; first > 0; first /= 2, last /= 2) {
    if (occupied->always[first].count) found[count++] = &occupied->always[first];
    if (last != first && occupied->always[last].count) found[count++] = &occupied->always[last];
  }
  return count;
}

static int64_t within_block(int64_t at, int64_t bytes, int64_t block) {
  int64_t end = (at / block + 1) * block;
  return at + bytes <= end ? at : end;
}

int64_t cvy_occupied_least(const cvy_occupied *occupied, cvy_moments span, int64_t bytes,
                           int64_t block) {
  const cvy_runs *runs[2 * MOST_PARTS];
  int32_t count = find_runs(occupied, span, runs);
  int64_t at = 0, before;
  do {
    before = at;
    at = within_block(at, bytes, block);
    for (int32_t i = 0; i < count; i++) at = past(runs[i], at, bytes);
  } while (at != before);
  return at;
}

convoy_status cvy_occupied_add(cvy_occupied *occupied, cvy_moments span, int64_t at,
                               int64_t bytes) {
  const cvy_run new = {at, at + bytes};
  int32_t part[MOST_PARTS], parts = find_parts(occupied, span, part);
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < parts && !status; i++) {
    status = add(&occupied->always[part[i]], new);
    if (!status) status = add(&occupied->ever[part[i]], new);
  }
  int32_t first = span.first + occupied->leaves, last = span.last + occupied->leaves;
  for (; first > 0 && !status; first /= 2, last /= 2) {
    status = add(&occupied->ever[first], new);
    if (!status && last != first) status = add(&occupied->ever[last], new);
  }
  return status;
}
