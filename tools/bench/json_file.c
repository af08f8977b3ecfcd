/* Writes the first object of a JSON file, which says where its figures come from, and its end with
 * the sums. */
#include "bench/json_file.h"

#include <stdlib.h>
#include <time.h>

#include "bench/sums.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/places.h"
#include "common/problem.h"

static void write_machine(json *out) {
  machine here = machine_here();
  json_open(out, "machine", '{');
  json_text(out, "system", here.system);
  json_text(out, "cpu", here.cpu);
  json_integer(out, "cores", here.cores);
  json_integer(out, "memory_bytes", here.memory_bytes);
  json_close(out, '}');
}

static void write_environment(json *out) {
  json_open(out, "environment", '{');
  for (int i = 0; machine_variables[i]; i++) {
    const char *value = getenv(machine_variables[i]);
    char text[4096];
    if (value) json_text(out, machine_variables[i], places_without_home(value, text, sizeof text));
  }
  json_close(out, '}');
}

static void write_device(json *out, const device *one) {
  json_open(out, NULL, '{');
  json_text(out, "id", one->label);
  json_text(out, "name", one->info.name);
  json_text(out, "kind", device_type_name(one->info.type));
  json_text(out, "platform", one->info.platform);
  json_text(out, "driver", one->info.driver);
  json_integer(out, "compute_units", one->info.compute_units);
  json_integer(out, "clock_mhz", one->info.clock_mhz);
  json_integer(out, "memory_bytes", one->info.memory_bytes);
  json_number(out, "peak_gflops", one->gflops);
  json_number(out, "peak_gigabytes_per_second", one->gigabytes);
  json_close(out, '}');
}

output_state bench_write_head(FILE *to, const char *command, const device_list *devices) {
  char when[32] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  json out = {.to = to};
  json_open(&out, NULL, '{');
  json_text(&out, "type", "head");
  output_state state = output_begin_json(&out);
  json_text(&out, "version", convoy_version());
  json_text(&out, "time", when);
  char typed[4096];
  json_text(&out, "command", places_without_home(command, typed, sizeof typed));
  write_machine(&out);
  write_environment(&out);
  json_open(&out, "devices", '[');
  for (int i = 0; i < devices->count; i++) write_device(&out, &devices->item[i]);
  json_close(&out, ']');
  json_close(&out, '}');
  json_end_line(&out);
  return state;
}

static void write_part(json *out, const char *key, const bench_sum_part *part) {
  if (part->lines == 0) return;
  json_open(out, key, '{');
  json_number(out, "ms", part->ms);
  json_number(out, "transfers_ms", part->transfers_ms);
  json_number(out, "flops", part->flops);
  json_integer(out, "lines", part->lines);
  json_integer(out, "missing", part->missing);
  json_close(out, '}');
}

static void write_sum(FILE *to, const bench_sum *one) {
  json out = {.to = to};
  json_open(&out, NULL, '{');
  json_text(&out, "type", "sum");
  json_text(&out, "table", one->table);
  json_text(&out, "device", one->device);
  json_text(&out, "requested", one->requested);
  for (int i = 0; i < CONVOY_DIRECTIONS; i++)
    write_part(&out, direction_roles[i].name, &one->pass[i]);
  write_part(&out, "total", &one->total);
  json_close(&out, '}');
  json_end_line(&out);
}

void bench_write_sums(FILE *to, const bench_results *lines) {
  bench_sum *sums = malloc((size_t)(lines->count ? lines->count : 1) * sizeof *sums);
  if (!sums) return;
  int count = bench_sums_of(lines, sums);
  for (int i = 0; i < count; i++) write_sum(to, &sums[i]);
  free(sums);
}

void bench_write_end(FILE *to, const output_state *state, const char *why_not) {
  json out = {.to = to};
  output_end_json(&out, why_not);
  json_close(&out, '}');
  json_end_line(&out);
  if (!why_not) output_finish(state);
}
