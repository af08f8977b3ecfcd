/* Writes ratios to an older run. One above 1 means that it is faster now. */
#include "bench/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sums.h"
#include "common/exit_status.h"

int bench_read_old(const char *path, bench_results *out) {
  FILE *from = fopen(path, "r");
  if (!from) {
    fprintf(stderr, "convoy bench: --compare %s: %s\n", path, strerror(errno));
    return EXIT_USAGE;
  }
  char *line = NULL;
  size_t size = 0;
  bool room = true;
  while (room && getline(&line, &size, from) > 0) {
    bench_result one;
    if (bench_result_read(line, &one)) room = bench_results_add(out, &one);
    bench_result_read_state(line, out->incomplete,
                            sizeof out->incomplete); /* the last one counts */
  }
  free(line);
  fclose(from);
  if (out->incomplete[0])
    fprintf(stderr, "convoy bench: --compare %s: it is INCOMPLETE: %s\n", path, out->incomplete);
  if (room && out->count > 0) return EXIT_FINE;
  fprintf(stderr, "convoy bench: --compare %s: %s\n", path,
          room ? "no line of a bench in it" : "out of memory");
  return EXIT_FAILED;
}

static bool same_line(const bench_result *a, const bench_result *b) {
  return strcmp(a->table, b->table) == 0 && strcmp(a->shape, b->shape) == 0 &&
         strcmp(a->pass, b->pass) == 0 && strcmp(a->device, b->device) == 0 &&
         strcmp(a->requested, b->requested) == 0;
}

static const bench_result *find(const bench_results *old, const bench_result *line) {
  for (int i = 0; i < old->count; i++)
    if (same_line(&old->item[i], line)) return &old->item[i];
  return NULL;
}

static void print_ratio(FILE *out, const bench_result *now, const bench_result *then) {
  fprintf(out, "%-20.20s %-16s %-6.6s %-18.18s %10.3f %10.3f %7.3f\n", now->shape, now->pass,
          now->device, now->requested, then->median_ms, now->median_ms,
          then->median_ms / now->median_ms);
}

/* Splits what both runs timed into two lists of the same lines, so that their sums compare. */
static bool pair(FILE *out, const bench_results *now, const bench_results *old, bench_results *left,
                 bench_results *right) {
  for (int i = 0; i < now->count; i++) {
    const bench_result *line = &now->item[i], *then = find(old, line);
    if (!then || !bench_result_ok(line) || !bench_result_ok(then)) continue;
    print_ratio(out, line, then);
    /* The weights are those of now, should the table have changed. */
    bench_result weighted = *then;
    weighted.count = line->count;
    if (!bench_results_add(left, &weighted) || !bench_results_add(right, line)) return false;
  }
  return true;
}

static void print_sums(FILE *out, const bench_results *old, const bench_results *now) {
  bench_sum *then = malloc((size_t)(now->count ? now->count : 1) * sizeof *then);
  bench_sum *today = malloc((size_t)(now->count ? now->count : 1) * sizeof *today);
  int count = then && today ? bench_sums_of(now, today) : 0;
  if (count > 0) bench_sums_of(old, then);
  for (int i = 0; i < count; i++) {
    fprintf(out, "sum %-16.16s %-16s %-6.6s %-18.18s %10.3f %10.3f %7.3f\n", today[i].table, "",
            today[i].device, today[i].requested, then[i].total.ms, today[i].total.ms,
            then[i].total.ms / today[i].total.ms);
  }
  free(then);
  free(today);
}

int bench_compare(FILE *out, const char *path, const bench_results *old, const bench_results *now) {
  bench_results left = {0}, right = {0};
  fprintf(out, "\ncompared with %s: median ms then and now; above 1 is faster now\n", path);
  if (old->incomplete[0]) fprintf(out, "%s is INCOMPLETE: %s\n", path, old->incomplete);
  bool good = pair(out, now, old, &left, &right);
  print_sums(out, &left, &right);
  fprintf(out, "%d of %d lines are in both\n", right.count, now->count);
  bench_results_free(&left);
  bench_results_free(&right);
  return good ? EXIT_FINE : EXIT_FAILED;
}
