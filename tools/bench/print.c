/* Writes the terminal table of the bench, which is at most 120 columns wide. */
#include "bench/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sums.h"
#include "common/problem.h"

static const char *const short_pass[CONVOY_DIRECTIONS] = {
    [CONVOY_FORWARD] = "forward",
    [CONVOY_BACKWARD_DATA] = "data",
    [CONVOY_BACKWARD_WEIGHTS] = "weights",
    [CONVOY_BACKWARD_BIAS] = "bias",
};

static const char *pass_of(const bench_result *line) {
  int direction = direction_find(line->pass);
  return direction < 0 ? line->pass : short_pass[direction];
}

/* Programs move data; what they compute is not counted. */
static bool is_operation(const bench_result *line) {
  return direction_find(line->pass) < 0;
}

/* Writes a figure that keeps its column's width whatever its size, and "-" for NaN. */
static void print_figure(FILE *out, int width, double value) {
  if (isnan(value)) {
    fprintf(out, " %*s", width, "-");
  } else {
    int decimals = value < 10.0 ? 3 : value < 1000.0 ? 2 : 0;
    fprintf(out, " %*.*f", width, decimals, value);
  }
}

static void print_bytes(FILE *out, int64_t bytes) {
  static const char units[] = "BKMGT";
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024.0 && unit < 4) {
    value /= 1024.0;
    unit++;
  }
  fprintf(out, " %6.*f%c", unit > 0 && value < 100.0 ? 1 : 0, value, units[unit]);
}

void bench_print_devices(FILE *out, const device_list *devices) {
  for (int i = 0; i < devices->count; i++) {
    const device *one = &devices->item[i];
    fprintf(out, "%-6s %s (%s), %s, %s\n", one->label, one->info.name,
            device_type_name(one->info.type), one->info.platform, one->info.driver);
    fprintf(out, "       measured peaks: %.1f GFLOP/s, copy %.1f GB/s\n", one->gflops,
            one->gigabytes);
  }
}

static void print_head(FILE *out, const char *table, const char *what, const char *rate,
                       const char *share) {
  fprintf(out, "\n%s\n%-20s %-7s %-6s %-20s %7s %7s %5s %8s %8s %8s %8s %5s\n", table, what, "pass",
          "device", "algorithm", "workspc", "error", "bound", "min ms", "med ms", "transfer", rate,
          share);
}

void bench_print_head(FILE *out, const char *table) {
  print_head(out, table, "layer", "GFLOP/s", "peak%");
}

void bench_print_operations_head(FILE *out) {
  print_head(out, "op", "operation", "GB/s", "copy%");
}

void bench_print_nets_head(FILE *out) {
  fprintf(out, "\nnet\n%-26s %-6s %4s %7s %7s %5s %7s %7s %7s %8s %5s %5s %7s %6s\n", "network",
          "device", "ops", "memory", "error", "bound", "min ms", "med ms", "fed ms", "images/s",
          "peak%", "copy%", "first s", "days");
}

static bool is_step(const bench_result *line) {
  return strcmp(line->pass, "step") == 0;
}

static void print_step(FILE *out, const bench_result *line) {
  fprintf(out, "%-26.26s %-6.6s", line->shape, line->device);
  if (!bench_result_ok(line)) {
    fprintf(out, " %s: %s\n", line->status, line->reason);
    return;
  }
  fprintf(out, " %4lld", (long long)line->operations);
  print_bytes(out, line->memory_bytes);
  fprintf(out, " %7.1e %5.3f", line->error, line->error_share);
  print_figure(out, 7, line->min_ms);
  print_figure(out, 7, line->median_ms);
  print_figure(out, 7, line->transfers_ms);
  print_figure(out, 8, line->images_per_second);
  fprintf(out, " %5.1f %5.1f", 100.0 * line->flops_share, 100.0 * line->copy_share);
  print_figure(out, 7, 1e-3 * (line->capture_ms + line->first_ms));
  print_figure(out, 6, line->days);
  fputc('\n', out);
}

static void print_details(FILE *out, const bench_result *line) {
  fprintf(out, "    %s\n", line->problem);
  if (!bench_result_ok(line)) return;
  fprintf(out, "    %lld samples of %lld, spread %.2f, copy peak %.1f%%%s%s\n",
          (long long)line->samples, (long long)line->batch, line->spread, 100.0 * line->copy_share,
          line->parameters[0] ? ", " : "", line->parameters);
}

void bench_print_line(FILE *out, const bench_result *line, bool verbose) {
  if (is_step(line)) {
    print_step(out, line);
    if (verbose) print_details(out, line);
    return;
  }
  double rate = is_operation(line) ? 1e-6 * line->bytes / line->median_ms : line->gflops;
  double share = is_operation(line) ? line->copy_share : line->flops_share;
  fprintf(out, "%-20.20s %-7.7s %-6.6s ", line->shape, pass_of(line), line->device);
  if (bench_result_ok(line)) {
    fprintf(out, "%-20.20s", line->algorithm);
    print_bytes(out, line->workspace_bytes);
    fprintf(out, " %7.1e", line->error);
    if (isnan(line->error_share))
      fprintf(out, " %5s", "-");
    else
      fprintf(out, " %5.3f", line->error_share);
    print_figure(out, 8, line->min_ms);
    print_figure(out, 8, line->median_ms);
    print_figure(out, 8, line->transfers_ms);
    fprintf(out, " %8.1f %5.1f\n", rate, 100.0 * share);
  } else {
    fprintf(out, "%-20.20s %s: %s\n", line->algorithm, line->status, line->reason);
  }
  /* What failed is worth repeating alone, and a name may be cut in its column. */
  bool failed = !bench_result_ok(line) && strcmp(line->status, "refused") != 0;
  bool cut = strlen(line->shape) > 20;
  if (verbose || failed || cut) print_details(out, line);
}

static const device *find_device(const device_list *devices, const char *id) {
  for (int i = 0; i < devices->count; i++)
    if (strcmp(devices->item[i].label, id) == 0) return &devices->item[i];
  return NULL;
}

static void print_sum(FILE *out, const bench_sum *one, const device_list *devices) {
  fprintf(out, "%-18.18s %-6.6s %-18.18s", one->table, one->device, one->requested);
  for (int i = 0; i <= CONVOY_BACKWARD_WEIGHTS; i++)
    print_figure(out, 9, one->pass[i].lines ? one->pass[i].ms : NAN);
  const device *where = find_device(devices, one->device);
  double rate = 1e-6 * one->total.flops / one->total.ms;
  print_figure(out, 9, one->total.ms);
  print_figure(out, 9, one->total.transfers_ms);
  if (isnan(rate))
    fprintf(out, " %8s %5s", "-", "-");
  else
    fprintf(out, " %8.1f %5.1f", rate, where ? 100.0 * rate / where->gflops : NAN);
  if (one->total.missing) fprintf(out, " *%d", one->total.missing);
  fputc('\n', out);
}

void bench_print_sums(FILE *out, const bench_results *lines, const device_list *devices) {
  bench_sum *sums = malloc((size_t)(lines->count ? lines->count : 1) * sizeof *sums);
  if (!sums) return;
  int count = bench_sums_of(lines, sums);
  if (count == 0) {
    free(sums);
    return;
  }
  fprintf(out, "\nsums, each layer times its count (milliseconds; *n: n lines without a time)\n");
  fprintf(out, "%-18s %-6s %-18s %9s %9s %9s %9s %9s %8s %5s\n", "table", "device", "algorithm",
          "forward", "data", "weights", "total", "transfer", "GFLOP/s", "peak%");
  for (int i = 0; i < count; i++) print_sum(out, &sums[i], devices);
  free(sums);
}
