/* The bench goes through tables, layers and passes, and for each problem through all devices and
 * algorithms, so that its data and its reference are made once and the devices stand side
 * by side. */
#include "bench/bench.h"

#include <math.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/json_file.h"
#include "bench/line.h"
#include "bench/print.h"
#include "common/exit_status.h"
#include "common/interrupt.h"
#include "common/problem.h"
#include "common/progress.h"
#include "common/shapes.h"

enum { SAMPLED_ELEMENTS = 256, ALGORITHMS_MOST = 32 };

typedef struct bench {
  const bench_options *options;
  FILE *out, *json;
  timing enough;
  shapes shapes;
  device_list devices;
  convoy_context *cpu;      /* of operations and networks; NULL if there are none */
  bench_results lines, old; /* of this run, of the one it is compared with */
  progress line;
  bool failed;
} bench;

static timing timing_of(const bench_options *options) {
  static const timing full = {10, 0.002, 0.2, 3.0}, quick = {3, 0.002, 0.0, 0.5};
  timing out = options->quick ? quick : full;
  if (options->samples > 0) out.samples = options->samples;
  if (options->min_time >= 0.0) out.min_time = options->min_time;
  if (options->budget >= 0.0) out.budget = options->budget;
  return out;
}

/* Lists the algorithms to run on a device, where "" stands for its choice. Returns how many there
 * are. */
static int algorithms_for(const bench *all, const device *where, const char **out) {
  const words *names = &all->options->algorithms;
  int count = 0;
  if (names->count == 0) out[count++] = "";
  for (int i = 0; i < names->count; i++) {
    const char *name = names->item[i];
    bool every = strcmp(name, "all") == 0;
    if (strcmp(name, "auto") == 0 && count < ALGORITHMS_MOST) out[count++] = "";
    if (!every && device_has_algorithm(where, name) && count < ALGORITHMS_MOST) out[count++] = name;
    for (int row = 0; every && count < ALGORITHMS_MOST; row++) {
      const char *known = convoy_algorithm_name(where->context, row);
      if (!known) break;
      out[count++] = known;
    }
  }
  return count;
}

static void measure_peaks(device_list *devices) {
  for (int i = 0; i < devices->count; i++) {
    device *one = &devices->item[i];
    if (interrupted()) return;
    if (convoy_measure_peak(one->context, &one->gflops, &one->gigabytes) == CONVOY_OK) continue;
    fprintf(stderr, "convoy bench: %s: no peak: %s\n", one->label, convoy_last_error());
    one->gflops = one->gigabytes = NAN;
  }
}

static void finish_line(bench *all, const bench_result *line) {
  progress_clear(&all->line);
  if (interrupted() && strcmp(line->status, "error") == 0) return; /* the signal was the error */
  bench_print_line(all->out, line, all->options->verbose);
  fflush(all->out);
  if (all->json) bench_result_write(all->json, line);
  if (!bench_results_add(&all->lines, line)) all->failed = true;
  if (!bench_result_ok(line) && strcmp(line->status, "refused") != 0) all->failed = true;
}

static void run_devices(bench *all, const bench_case *what) {
  for (int d = 0; d < all->devices.count; d++) {
    device *where = &all->devices.item[d];
    const char *names[ALGORITHMS_MOST];
    int count = algorithms_for(all, where, names);
    for (int i = 0; i < count && !interrupted(); i++) {
      char now[128];
      snprintf(now, sizeof now, "%s %.40s %s %s", where->label, what->from->name,
               direction_roles[what->shape.direction].name, names[i]);
      progress_show(&all->line, now);
      bench_result line = bench_line(what, where, names[i][0] ? names[i] : NULL, &all->enough);
      finish_line(all, &line);
    }
  }
}

static void run_case(bench *all, const layer_table *table, const layer *from,
                     convoy_direction direction) {
  bench_case what = {.table = table->name, .from = from, .shape = from->shape};
  what.shape.direction = direction;
  reference exact = {0, NULL};
  progress_show(&all->line, from->name);
  bool made = operands_make(&what.shape, fill_real, false, &what.data);
  if (made && reference_make(&what.shape, &what.data, SAMPLED_ELEMENTS, &exact)) {
    what.exact = &exact;
    run_devices(all, &what);
  } else {
    progress_clear(&all->line);
    fprintf(stderr, "convoy bench: %s: out of memory\n", from->name);
    all->failed = true;
  }
  reference_free(&exact);
  operands_free(&what.data);
  if (!interrupted()) progress_step(&all->line);
}

/* One text, or the gradient of it. */
static void run_operation(bench *all, operation *what, bool is_gradient) {
  const bench_operation one = {what, is_gradient};
  bool made =
      operation_fill(what, fill_real, 0.0f) && operation_expect(what, all->cpu) == CONVOY_OK;
  if (!made) {
    progress_clear(&all->line);
    fprintf(stderr, "convoy bench: %s: %s\n", what->text, convoy_last_error());
    all->failed = true;
  }
  for (int d = 0; d < all->devices.count && made; d++) {
    device *where = &all->devices.item[d];
    const char *names[ALGORITHMS_MOST];
    int count = algorithms_for(all, where, names);
    for (int i = 0; i < count && !interrupted(); i++) {
      char now[128];
      snprintf(now, sizeof now, "%s %.80s %s", where->label, what->text, names[i]);
      progress_show(&all->line, now);
      bench_result line =
          bench_operation_line(&one, where, names[i][0] ? names[i] : NULL, &all->enough);
      finish_line(all, &line);
    }
  }
  if (!interrupted()) progress_step(&all->line);
}

static int operation_count(const bench_options *set) {
  return set->operations.count * (set->gradients ? 2 : 1);
}

/* The texts can be read: that was looked at before. */
static void run_operations(bench *all) {
  const bench_options *set = all->options;
  if (set->operations.count > 0) bench_print_operations_head(all->out);
  for (int i = 0; i < operation_count(set) && !interrupted(); i++) {
    bool is_gradient = i >= set->operations.count;
    const char *text = set->operations.item[i % set->operations.count];
    operation what;
    convoy_status status =
        is_gradient ? operation_read_gradient(text, &what) : operation_read(text, &what);
    if (status == CONVOY_OK) run_operation(all, &what, is_gradient);
    all->failed = all->failed || status != CONVOY_OK;
    if (status == CONVOY_OK) operation_free(&what);
  }
}

/* ------------------------------------------------------------------------------------- networks
 */

static void run_net(bench *all, const char *name) {
  const bench_options *set = all->options;
  bench_net net = bench_net_of(name, set->batch, set->image);
  bench_result lines[DEVICES_MOST];
  progress_show(&all->line, name);
  bool good = bench_turns(&net, &all->devices, all->cpu, &all->enough, set->length, lines);
  for (int d = 0; d < all->devices.count && good; d++) finish_line(all, &lines[d]);
  if (!good && !interrupted()) {
    progress_clear(&all->line);
    fprintf(stderr, "convoy bench: %s: %s\n", name, convoy_last_error());
    all->failed = true;
  }
  bench_net_free(&net);
  if (!interrupted()) progress_step(&all->line);
}

static void run_nets(bench *all) {
  const words *nets = &all->options->nets;
  if (nets->count > 0) bench_print_nets_head(all->out);
  for (int i = 0; i < nets->count && !interrupted(); i++) run_net(all, nets->item[i]);
}

static int check_net(const char *name, bool has_image) {
  const struct net_kind *kind = net_kind_named(name);
  if (kind && (!has_image || kind->input[1] == kind->input[2])) return EXIT_FINE;
  if (kind)
    fprintf(stderr, "convoy bench: --image: what %s reads is not square\n", name);
  else
    fprintf(stderr, "convoy bench: --net %s: there is no such network; there are", name);
  for (int i = 0; !kind && net_kind_at(i); i++)
    fprintf(stderr, "%s %s", i ? "," : "", net_kind_at(i)->name);
  fputs(kind ? "" : "\n", stderr);
  return EXIT_USAGE;
}

static int check_nets(const bench_options *set) {
  int status = EXIT_FINE;
  if (set->nets.count > 0 && set->algorithms.count > 0) {
    fputs("convoy bench: --algorithm is not for --net\n", stderr);
    return EXIT_USAGE;
  }
  if (set->nets.count == 0 && (set->image || set->length.images)) {
    fputs("convoy bench: --image and --images are for --net\n", stderr);
    return EXIT_USAGE;
  }
  for (int i = 0; i < set->nets.count && status == EXIT_FINE; i++)
    status = check_net(set->nets.item[i], set->image > 0);
  return status;
}

/* ------------------------------------------------------------------------------------------- all
 */

static int check_operation(const char *text, bool gradient) {
  operation what;
  const char *family = operation_family(text);
  if (gradient && family) {
    fprintf(stderr, "convoy bench: --op '%s': its gradients are %s with texts of their own\n", text,
            family);
    return EXIT_USAGE;
  }
  convoy_status status =
      gradient ? operation_read_gradient(text, &what) : operation_read(text, &what);
  size_t length = strlen(text);
  if (status == CONVOY_OK) operation_free(&what);
  if (status == CONVOY_OK && length < sizeof((bench_result *)0)->shape) return EXIT_FINE;
  if (status == CONVOY_OK)
    fprintf(stderr, "convoy bench: --op: a text of %zu bytes, at most %zu\n", length,
            sizeof((bench_result *)0)->shape - 1);
  else
    fprintf(stderr, "convoy bench: --op '%s': %s\n", text, convoy_last_error());
  return EXIT_USAGE;
}

/* Before any device is opened. */
static int check_operations(const bench_options *set) {
  int status = EXIT_FINE;
  if (set->gradients && set->operations.count == 0) {
    fputs("convoy bench: --gradient is for --op\n", stderr);
    return EXIT_USAGE;
  }
  for (int i = 0; i < operation_count(set) && status == EXIT_FINE; i++)
    status = check_operation(set->operations.item[i % set->operations.count],
                             i >= set->operations.count);
  return status;
}

/* What operations and networks are compared with. */
static int open_cpu(bench *all) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "cpu";
  if (all->options->operations.count + all->options->nets.count == 0) return EXIT_FINE;
  if (convoy_open(&options, &all->cpu) == CONVOY_OK) return EXIT_FINE;
  fprintf(stderr, "convoy bench: cpu: %s\n", convoy_last_error());
  return EXIT_NO_DEVICE;
}

static void run_table(bench *all, const layer_table *table) {
  bench_print_head(all->out, table->name);
  fflush(all->out);
  for (int l = 0; l < table->count; l++) {
    const layer *from = &table->layers[l];
    passes each = shapes_passes(&all->shapes, table, from);
    for (int d = 0; d < each.count && !interrupted(); d++) run_case(all, table, from, each.item[d]);
  }
}

static int prepare(bench *all) {
  const bench_options *set = all->options;
  int status = shapes_open("bench", &set->shapes, &set->texts, &set->passes, &all->shapes);
  if (status == EXIT_FINE) status = check_operations(set);
  if (status == EXIT_FINE) status = check_nets(set);
  if (status == EXIT_FINE && set->compare) status = bench_read_old(set->compare, &all->old);
  if (status == EXIT_FINE) status = devices_open_with(&set->devices, &set->threads, &all->devices);
  if (status == EXIT_FINE) status = devices_check_algorithms(&all->devices, &set->algorithms);
  if (status == EXIT_FINE) status = open_cpu(all);
  return status;
}

/* Writes the sums of what there is, and whether that is all. */
static void conclude(bench *all, const output_state *state) {
  char why[128];
  snprintf(why, sizeof why, "%s after %d of %d problems", interrupt_text(), all->line.done,
           all->line.total);
  const char *why_not = interrupted() ? why : NULL;
  bench_print_sums(all->out, &all->lines, &all->devices);
  if (all->json) bench_write_sums(all->json, &all->lines);
  if (all->json) bench_write_end(all->json, state, why_not);
  if (why_not) fprintf(all->out, "\nbench INCOMPLETE: %s\n", why_not);
}

static int run(bench *all) {
  output_state state = {.at = -1};
  all->failed = all->devices.failed > 0;
  measure_peaks(&all->devices);
  bench_print_devices(all->out, &all->devices);
  if (all->json) state = bench_write_head(all->json, all->options->command, &all->devices);
  int problems = shapes_problems(&all->shapes) + operation_count(all->options);
  all->line = progress_start(problems + all->options->nets.count, all->options->progress);
  for (int t = 0; t < all->shapes.table_count && !interrupted(); t++)
    run_table(all, &all->shapes.tables[t]);
  run_operations(all);
  run_nets(all);
  conclude(all, &state);
  int status = all->failed ? EXIT_FAILED : EXIT_FINE;
  if (all->options->compare) {
    int compared = bench_compare(all->out, all->options->compare, &all->old, &all->lines);
    if (status == EXIT_FINE) status = compared;
  }
  return interrupt_status(status);
}

int bench_run(const bench_options *options, FILE *out, FILE *lines) {
  bench all = {.options = options, .out = out, .json = lines, .enough = timing_of(options)};
  int status = prepare(&all);
  if (status == EXIT_FINE) status = run(&all);
  if (all.cpu) convoy_close(all.cpu);
  devices_close(&all.devices);
  shapes_close(&all.shapes);
  bench_results_free(&all.lines);
  bench_results_free(&all.old);
  return status;
}
