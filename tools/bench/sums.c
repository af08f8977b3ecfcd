/* Groups results and adds them up. */
#include "bench/sums.h"

#include <string.h>

#include "common/problem.h"

static bench_sum *group_of(const bench_result *line, bench_sum *sums, int *count) {
  for (int i = 0; i < *count; i++) {
    if (strcmp(sums[i].table, line->table) == 0 && strcmp(sums[i].device, line->device) == 0 &&
        strcmp(sums[i].requested, line->requested) == 0)
      return &sums[i];
  }
  bench_sum *made = &sums[(*count)++];
  *made = (bench_sum){.table = ""};
  memcpy(made->table, line->table, sizeof made->table);
  memcpy(made->device, line->device, sizeof made->device);
  memcpy(made->requested, line->requested, sizeof made->requested);
  return made;
}

static void add(const bench_result *line, bench_sum_part *to) {
  to->lines++;
  if (!bench_result_ok(line)) {
    to->missing++;
    return;
  }
  double weight = (double)line->count;
  to->ms += weight * line->median_ms;
  to->transfers_ms += weight * line->transfers_ms;
  to->flops += weight * line->flops;
}

int bench_sums_of(const bench_results *lines, bench_sum *out) {
  int count = 0;
  for (int i = 0; i < lines->count; i++) {
    const bench_result *line = &lines->item[i];
    if (strcmp(line->pass, "step") == 0) continue; /* it is a whole network */
    bench_sum *group = group_of(line, out, &count);
    int direction = direction_find(line->pass);
    if (direction >= 0) add(line, &group->pass[direction]);
    add(line, &group->total);
  }
  return count;
}
