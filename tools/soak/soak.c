/* `convoy soak` trains a small network while faults strike, and checks every step. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/clock.h"
#include "common/devices.h"
#include "common/exit_status.h"
#include "common/interrupt.h"
#include "common/json.h"
#include "common/options.h"
#include "common/output.h"
#include "common/progress.h"
#include "soak/block.h"
#include "soak/check.h"
#include "soak/faults.h"
#include "soak/graph.h"
#include "soak/net.h"
#include "soak/usage.h"

typedef struct soak {
  int steps, seed;
  double hours;
  const char *device, *json_path;
  words fault_names;
  output file;
  output_state state;
  bool whole; /* the file has its end */
  char folder[32];
  soak_faults faults;
  soak_net net;
  soak_block block;
  soak_graph graph;
  convoy_context *context, *cpu;
  progress line;
  double start, first_loss;
  int done, lost, wrong, struck, survived;
  soak_usage usage;
  convoy_health before, health; /* when everything had been compiled, and at the end */
} soak;

/* ---------------------------------------------------------------------------- settings */

/* With faults: deadlines short enough to meet hundreds of hangs, and a device that is never barred
 * for its faults, which are the point. Compilers have their time: a program that none of them ends
 * is compiled anew by each worker, for ever. What the user has set is kept. */
static const struct {
  const char *name, *value;
} settings[] = {
    {"CONVOY_DEVICE_WAIT_BUDGET", "20"},
    {"CONVOY_DEADLINE", "start=1,probe=1,compile=15,transfer=0.5,run=0.5,restarts=1000000"},
    {"CONVOY_FAULT_LIMIT", "0"},
};

static void set_environment(soak *all) {
  setenv("CONVOY_STATE_DIR", all->folder, 1);
  if (!soak_faults_any(&all->faults)) return;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    setenv(settings[i].name, settings[i].value, 0);
  if (soak_faults_wrong(&all->faults)) setenv("CONVOY_VERIFY", "all", 1);
  if (!getenv("CONVOY_LOG")) setenv("CONVOY_LOG", "error", 1);
}

static const char *setting(size_t i) {
  const char *value = getenv(settings[i].name);
  return value ? value : "(default)";
}

static void print_settings(const soak *all, const convoy_device_info *info) {
  printf("convoy %s\n%s  %s, %s\n", convoy_version(), info->id, info->name, info->driver);
  if (all->hours > 0.0)
    printf("hours %.3g, seed %d, faults", all->hours, all->seed);
  else
    printf("steps %d, seed %d, faults", all->steps, all->seed);
  for (int i = 0; i < all->fault_names.count; i++) printf(" %s", all->fault_names.item[i]);
  printf("%s\nCONVOY_STATE_DIR=%s\n", all->fault_names.count ? "" : " none", all->folder);
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    printf("%s=%s\n", settings[i].name, setting(i));
  printf("CONVOY_VERIFY=%s\n", getenv("CONVOY_VERIFY") ? getenv("CONVOY_VERIFY") : "sample");
  fflush(stdout);
}

/* --------------------------------------------------------------------------------- log */

static void log_line(soak *all, const char *type, const char *key, const char *text) {
  if (!all->file.to) return;
  json out = {.to = all->file.to};
  json_open(&out, NULL, '{');
  json_text(&out, "type", type);
  json_integer(&out, "step", all->done);
  json_text(&out, key, text);
  json_close(&out, '}');
  json_end_line(&out);
}

static void log_head(soak *all, const convoy_device_info *info) {
  if (!all->file.to) return;
  json out = {.to = all->file.to};
  json_open(&out, NULL, '{');
  json_text(&out, "type", "head");
  all->state = output_begin_json(&out);
  json_text(&out, "version", convoy_version());
  json_text(&out, "device", info->id);
  json_text(&out, "name", info->name);
  json_integer(&out, "seed", all->seed);
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
    json_text(&out, settings[i].name, setting(i));
  json_close(&out, '}');
  json_end_line(&out);
}

/* ------------------------------------------------------------------------------ a step */

static void complain(soak *all, const char *what, const char *why) {
  progress_clear(&all->line);
  printf("step %d: %s: %s\n", all->done, what, why);
  log_line(all, what, "why", why);
}

/* The last call failed, on the device or on the CPU. */
static int64_t lose(soak_net *net) {
  snprintf(net->why, sizeof net->why, "%s", convoy_last_error());
  return -1;
}

/* Returns how many elements are beyond their bounds, or -1 if the step was lost. */
static int64_t run_step(soak *all) {
  soak_net *net = &all->net;
  int64_t wrong = 0;
  for (int part = 0; part < SOAK_PARTS; part++) {
    if (soak_net_part(net, (uint64_t)all->done, part) != CONVOY_OK) return -1;
    int64_t beyond = soak_check_part(net, part);
    if (beyond < 0) snprintf(net->why, sizeof net->why, "on the CPU: %s", convoy_last_error());
    if (beyond < 0) return -1;
    wrong += beyond;
    if (soak_block_part(&all->block, &wrong) != CONVOY_OK) return lose(net);
  }
  if (soak_net_gradients(net) != CONVOY_OK) return -1;
  wrong += soak_check_gradients(net);
  if (soak_block_learn(&all->block, &wrong) != CONVOY_OK) return lose(net);
  if (soak_graph_step(&all->graph, (uint64_t)all->done, &wrong) != CONVOY_OK) return lose(net);
  soak_net_learn(net);
  return wrong;
}

static void judge(soak *all, int64_t wrong) {
  int struck = soak_faults_struck(&all->faults);
  all->struck += struck;
  if (struck > 0) log_line(all, "fault", "rule", all->faults.control->last);
  if (wrong == 0) {
    all->survived += struck;
  } else if (wrong < 0) {
    all->lost++;
    complain(all, "lost", all->net.why);
  } else {
    char why[64];
    all->wrong++;
    snprintf(why, sizeof why, "%lld elements beyond their bound", (long long)wrong);
    complain(all, "wrong", why);
  }
}

/* While a device compiles the CPU computes (docs/failover.md), which says nothing of the device:
 * steps that do not count, without faults, until one is carried out where it should be. */
static void warm_up(soak *all) {
  const double most = 600.0, start = seconds_now();
  bool there = false;
  while (!there && !interrupted() && seconds_now() - start < most) {
    convoy_health before = {.struct_size = sizeof before}, after = before;
    convoy_get_health(all->context, &before);
    if (run_step(all) != 0) return; /* the soak meets that, too */
    convoy_get_health(all->context, &after);
    there = !after.fallback_seconds && after.downgrades == before.downgrades;
    if (!there) usleep(200000);
  }
  all->before = (convoy_health){.struct_size = sizeof all->before};
  convoy_get_health(all->context, &all->before);
}

static bool goes_on(soak *all) {
  if (interrupted()) return false;
  if (all->hours <= 0.0) return all->done < all->steps;
  double passed = seconds_now() - all->start;
  all->line.done = (int)passed;
  return passed < all->hours * 3600.0;
}

static void run(soak *all) {
  warm_up(all);
  all->usage.warm = all->hours > 0.0 || all->steps > 1000 ? 200 : all->steps / 5;
  all->start = seconds_now();
  all->line = progress_start(all->hours > 0.0 ? (int)(all->hours * 3600.0) : all->steps, false);
  soak_usage_note(&all->usage, 0);
  while (goes_on(all)) {
    char what[96];
    snprintf(what, sizeof what, "step %d, %d faults, loss %.4g", all->done, all->struck,
             all->net.total_loss / SOAK_PARTS);
    progress_show(&all->line, what);
    soak_faults_arm(&all->faults);
    judge(all, run_step(all));
    if (all->done == 0) all->first_loss = all->net.total_loss;
    soak_usage_note(&all->usage, ++all->done);
    if (all->hours <= 0.0) progress_step(&all->line);
  }
  soak_usage_end(&all->usage);
  progress_clear(&all->line);
}

/* ----------------------------------------------------------------------------- the end */

enum { STEPS_FOR_A_FAULT = 100 }; /* with one in six steps struck, none in so many is no chance */

static double on_device(const soak *all) {
  int64_t operations = all->health.operations - all->before.operations;
  int64_t there = all->health.device_operations - all->before.device_operations;
  return operations ? (double)there / (double)operations : 0.0;
}

static void log_end(soak *all) {
  if (!all->file.to) return;
  json out = {.to = all->file.to};
  output_end_json(&out, interrupted() ? interrupt_text() : NULL);
  json_integer(&out, "steps", all->done);
  json_integer(&out, "faults", all->struck);
  json_integer(&out, "survived", all->survived);
  json_integer(&out, "wrong", all->wrong);
  json_integer(&out, "lost_steps", all->lost);
  json_number(&out, "on_device", on_device(all));
  json_number(&out, "max_wait_s", all->net.longest);
  json_integer(&out, "rss_growth_kib", all->usage.rss_growth);
  json_integer(&out, "fd_growth", all->usage.descriptors_growth);
  json_number(&out, "seconds", seconds_now() - all->start);
  json_number(&out, "first_loss", all->first_loss);
  json_number(&out, "last_loss", all->net.total_loss);
  json_integer(&out, "device_faults", all->health.faults);
  json_integer(&out, "deadlines_missed", all->health.deadlines_missed);
  json_integer(&out, "wrong_results", all->health.wrong_results);
  json_close(&out, '}');
  json_end_line(&out);
  all->whole = !interrupted();
  if (all->whole) output_finish(&all->state);
}

__attribute__((format(printf, 2, 3))) static void because(int *reasons, const char *format, ...) {
  va_list values;
  fputs((*reasons)++ ? ", and " : "soak FAILED: because ", stdout);
  va_start(values, format);
  vprintf(format, values);
  va_end(values);
}

/* Looks at the device: how much it failed by itself, and whether it was what computed. */
static void find_device_failures(const soak *all, int *reasons) {
  const convoy_health *health = &all->health;
  double share = on_device(all);
  bool wanted = soak_faults_any(&all->faults);
  if (!wanted && health->faults > 0)
    because(reasons, "the device failed %lld times by itself", (long long)health->faults);
  if (wanted && all->struck == 0 && all->done >= STEPS_FOR_A_FAULT)
    because(reasons, "no fault struck: the OpenCL loader seems to load no layers");
  if (all->done > 0 && !(share >= 0.9))
    because(reasons, "the device did %.1f %% of the operations, of 90 wanted", 1e2 * share);
}

/* Says in one line what is not as it should be, and returns how much there is of it. */
static int find_failures(const soak *all) {
  int reasons = 0;
  char why[192];
  if (all->wrong > 0) because(&reasons, "%d steps were wrong", all->wrong);
  if (all->lost > 0) because(&reasons, "%d steps were lost", all->lost);
  find_device_failures(all, &reasons);
  if (soak_usage_grew(&all->usage, why, sizeof why)) because(&reasons, "%s", why);
  if (reasons) fputc('\n', stdout);
  return reasons;
}

static void print_incomplete(const soak *all) {
  printf("soak INCOMPLETE: %s after ", interrupt_text());
  if (all->hours > 0.0)
    printf("%.3g of %.3g hours\n", (seconds_now() - all->start) / 3600.0, all->hours);
  else
    printf("%d of %d steps\n", all->done, all->steps);
}

static int report(soak *all) {
  all->health = (convoy_health){.struct_size = sizeof all->health};
  convoy_get_health(all->context, &all->health);
  log_end(all);
  double share = on_device(all);
  printf(
      "%.0f s, loss %.6g at first, %.6g at last; %lld device faults, %lld deadlines missed, "
      "%lld wrong results, %lld operations elsewhere\n",
      seconds_now() - all->start, all->first_loss, all->net.total_loss,
      (long long)all->health.faults, (long long)all->health.deadlines_missed,
      (long long)all->health.wrong_results,
      (long long)(all->health.operations - all->health.device_operations));
  printf(
      "soak: steps=%d faults=%d survived=%d wrong=%d lost_steps=%d on_device=%.4f "
      "max_wait_s=%.3f rss_growth_kib=%lld fd_growth=%d\n",
      all->done, all->struck, all->survived, all->wrong, all->lost, share, all->net.longest,
      (long long)all->usage.rss_growth, all->usage.descriptors_growth);
  int reasons = find_failures(all);
  if (interrupted()) print_incomplete(all);
  return interrupt_status(reasons ? EXIT_FAILED : EXIT_FINE);
}

/* --------------------------------------------------------------------------- beginning */

static const char *wanted_device(const soak *all) {
  const char *chosen = all->device ? all->device : getenv("CONVOY_DEVICE");
  return chosen && *chosen ? chosen : "auto";
}

static int refuse(const soak *all, int status, const char *why) {
  fprintf(stderr, "convoy soak: device %s: %s\n", wanted_device(all), why);
  return status;
}

/* Opens it without failover: a soak of another device than was meant would say nothing of it. */
static int find_device(const soak *all, convoy_device_info *out) {
  convoy_status status = device_probe(all->device, out);
  if (status != CONVOY_OK) {
    return refuse(all, status == CONVOY_ERR_ARGUMENT ? EXIT_USAGE : EXIT_NO_DEVICE,
                  convoy_last_error());
  }
  if (out->type != CONVOY_DEVICE_CPU_ENGINE) return EXIT_FINE;
  if (strcasecmp(wanted_device(all), "auto") == 0) {
    return refuse(all, EXIT_NO_DEVICE,
                  "no GPU is seen; name a device with --device, `--device cpu` soaks the CPU");
  }
  if (soak_faults_any(&all->faults))
    return refuse(all, EXIT_USAGE, "--faults strike in a driver, and the CPU engine has none");
  return EXIT_FINE;
}

static convoy_status open_both(soak *all) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "cpu";
  convoy_status status = convoy_open(&options, &all->cpu);
  if (status) return status;
  options.device = all->device;
  options.failover = CONVOY_ON;
  status = convoy_open(&options, &all->context);
  if (status) convoy_close(all->cpu);
  return status;
}

static int train(soak *all, const convoy_device_info *info) {
  int status = EXIT_FAILED;
  print_settings(all, info);
  log_head(all, info);
  if (soak_net_make(&all->net, all->context, all->cpu, (uint64_t)all->seed) &&
      soak_block_make(&all->block, &all->net) &&
      soak_graph_make(&all->graph, &all->net, all->block.used)) {
    if (!all->block.used)
      printf("programs and graphs: %s does not carry them out, left out\n", info->id);
    run(all);
    status = report(all);
  } else {
    fprintf(stderr, "convoy soak: cannot make the network: %s\n",
            *convoy_last_error() ? convoy_last_error() : "out of memory");
  }
  soak_graph_free(&all->graph);
  soak_block_free(&all->block);
  soak_net_free(&all->net);
  return status;
}

static int work(soak *all) {
  convoy_device_info found = {.struct_size = sizeof found}, info = found;
  int status = find_device(all, &found);
  if (status != EXIT_FINE) return status;
  if (open_both(all) != CONVOY_OK) return refuse(all, EXIT_NO_DEVICE, convoy_last_error());
  if (convoy_context_device(all->context, &info) == CONVOY_OK && strcmp(info.id, found.id) == 0)
    status = train(all, &info);
  else
    status = refuse(all, EXIT_NO_DEVICE, "it was opened once, and then no more");
  convoy_close(all->context);
  convoy_close(all->cpu);
  return status;
}

static void remove_folder(const char *folder) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) fprintf(stderr, "convoy soak: %s is left behind\n", folder);
}

static int start(soak *all) {
  if (!soak_faults_read(&all->fault_names, &all->faults)) return EXIT_USAGE;
  if (all->json_path && !output_open("soak", all->json_path, &all->file)) return EXIT_USAGE;
  snprintf(all->folder, sizeof all->folder, "/tmp/convoy-soak-XXXXXX");
  if (!mkdtemp(all->folder)) {
    fprintf(stderr, "convoy soak: cannot make a folder in /tmp\n");
    return EXIT_FAILED;
  }
  set_environment(all);
  interrupt_catch();
  int status = EXIT_FAILED;
  if (soak_faults_start(&all->faults, all->folder, (uint64_t)all->seed)) status = work(all);
  soak_faults_end(&all->faults);
  remove_folder(all->folder);
  return status;
}

int soak_main(int argc, char **argv) {
  static soak all = {.steps = 2000, .seed = 1};
  const option table[] = {
      {"--steps", "N", OPTION_COUNT, &all.steps, "training steps (2000)"},
      {"--hours", "H", OPTION_HOURS, &all.hours, "train for so long instead"},
      {"--faults", "KIND,...", OPTION_WORDS, &all.fault_names,
       "none (the default), all, or of hang stall fail slow crash abort kill stop wrong zero"},
      {"--seed", "N", OPTION_COUNT, &all.seed, "of data, weights and faults (1)"},
      {"--device", "NAME", OPTION_TEXT, &all.device,
       "as CONVOY_DEVICE; one device. The CPU engine only when named"},
      {"--json", "FILE", OPTION_TEXT, &all.json_path, "a line per fault, and one at the end"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  usage about = {"soak",
                 "Trains a small network on a device, with faults striking at random calls "
                 "of its driver, and\n"
                 "checks every operation of every step against the CPU. Without faults: is "
                 "this machine stable?\n"
                 "It fails if a step is wrong or lost, if the device fails by itself or "
                 "computes less than 90 %\n"
                 "of the operations, and if memory or descriptors grow.",
                 "examples:\n"
                 "  convoy soak --hours 8\n"
                 "  convoy soak --device ocl:0 --steps 2000 --faults all --json soak.json\n"};
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  status = start(&all);
  bool written = output_close("soak", &all.file, all.whole);
  return interrupt_status(written ? status : EXIT_FAILED);
}
