/* Opens contexts for what --device names. */
#include "common/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/exit_status.h"
#include "common/interrupt.h"

enum { THREADS_MOST = 256 };

typedef struct thread_counts {
  int count;
  int32_t item[DEVICES_MOST];
} thread_counts;

#define ENGINE "cpu"

const char *device_type_name(int32_t type) {
  static const char *const names[] = {
      [CONVOY_DEVICE_CPU_ENGINE] = "CPU engine",
      [CONVOY_DEVICE_GPU] = "GPU",
      [CONVOY_DEVICE_CPU] = "CPU through OpenCL",
      [CONVOY_DEVICE_ACCELERATOR] = "accelerator",
  };
  int32_t count = (int32_t)(sizeof names / sizeof names[0]);
  return type >= 0 && type < count ? names[type] : "unknown type";
}

/* With so many threads, which its label then says; 0 leaves their number to the library. */
static convoy_status open_named(const char *name, int32_t threads, device *out) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = name;
  options.failover = CONVOY_NO;
  options.threads = threads;
  *out = (device){.info = {.struct_size = sizeof out->info}, .gflops = NAN, .gigabytes = NAN};
  convoy_status status = convoy_open(&options, &out->context);
  if (status != CONVOY_OK) return status;
  status = convoy_context_device(out->context, &out->info);
  if (status != CONVOY_OK) convoy_close(out->context);
  out->threads = threads;
  if (threads > 0)
    snprintf(out->label, sizeof out->label, "%s/%d", ENGINE, (int)threads);
  else
    memcpy(out->label, out->info.id, sizeof out->label);
  return status;
}

convoy_status device_probe(const char *name, convoy_device_info *out) {
  device one;
  convoy_status status = open_named(name, 0, &one);
  *out = one.info;
  if (status == CONVOY_OK) convoy_close(one.context);
  return status;
}

convoy_status device_reopen(device *one) {
  interrupt_reaches(NULL);
  device before = *one;
  convoy_close(one->context);
  convoy_status status = open_named(before.info.id, before.threads, one);
  if (status != CONVOY_OK) one->context = NULL;
  memcpy(one->info.id, before.info.id, sizeof one->info.id);
  memcpy(one->label, before.label, sizeof one->label);
  one->gflops = before.gflops;
  one->gigabytes = before.gigabytes;
  return status;
}

static bool is_open(const device_list *list, const char *id) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->item[i].label, id) == 0) return true;
  return false;
}

static convoy_status add_with(const char *name, int32_t threads, device_list *out) {
  if (out->count == DEVICES_MOST || is_open(out, name)) return CONVOY_OK;
  device one;
  convoy_status status = open_named(name, threads, &one);
  if (status != CONVOY_OK) {
    fprintf(stderr, "convoy: device %s: %s\n", name, convoy_last_error());
    out->failed++;
  } else if (is_open(out, one.label)) {
    convoy_close(one.context);
  } else {
    out->item[out->count++] = one;
  }
  return status;
}

/* The CPU engine once for each number of threads. */
static convoy_status add(const char *name, const thread_counts *threads, device_list *out) {
  convoy_status status = CONVOY_OK;
  if (strcmp(name, ENGINE) != 0 || threads->count == 0) return add_with(name, 0, out);
  for (int i = 0; i < threads->count && status == CONVOY_OK; i++)
    status = add_with(name, threads->item[i], out);
  return status;
}

convoy_status devices_list_all(device_survey *out) {
  *out = (device_survey){.item = {{.struct_size = sizeof out->item[0]}}};
  convoy_status status =
      convoy_devices(NULL, out->item, DEVICES_MOST, &out->count, out->why, sizeof out->why);
  if (out->count > DEVICES_MOST) out->count = DEVICES_MOST;
  return status;
}

void devices_beside_gpu(const device_survey *found, words *ids) {
  bool any = false;
  for (int32_t i = 0; i < found->count; i++)
    any = any || (found->item[i].type == CONVOY_DEVICE_GPU && !found->item[i].simulator);
  for (int32_t i = 0; any && i < found->count; i++) {
    const convoy_device_info *one = &found->item[i];
    if (!one->simulator && one->type != CONVOY_DEVICE_CPU) words_add(ids, one->id, strlen(one->id));
  }
}

/* One device that does not open must not keep the others from their turn: it is only counted. */
static void add_all(const thread_counts *threads, device_list *out) {
  device_survey found;
  if (devices_list_all(&found) != CONVOY_OK) {
    fprintf(stderr, "convoy: %s\n", convoy_last_error());
    out->failed++;
  }
  if (found.why[0]) fprintf(stderr, "convoy: no other device: %s\n", found.why);
  for (int32_t i = 0; i < found.count; i++)
    if (!found.item[i].simulator) add(found.item[i].id, threads, out);
}

static int add_names(const words *names, const thread_counts *threads, device_list *out) {
  for (int i = 0; i < names->count; i++) {
    if (strcmp(names->item[i], "all") == 0) {
      add_all(threads, out);
      continue;
    }
    convoy_status status = add(names->item[i], threads, out);
    if (status != CONVOY_OK) return status == CONVOY_ERR_NOT_FOUND ? EXIT_NO_DEVICE : EXIT_FAILED;
  }
  return out->count > 0 ? EXIT_FINE : EXIT_FAILED;
}

static bool read_threads(const words *texts, thread_counts *out) {
  *out = (thread_counts){0};
  for (int i = 0; i < texts->count; i++) {
    char *end;
    long count = strtol(texts->item[i], &end, 10);
    if (*end || count < 1 || count > THREADS_MOST || out->count == DEVICES_MOST) {
      fprintf(stderr, "convoy: --threads %s: at most %d numbers from 1 to %d\n", texts->item[i],
              DEVICES_MOST, THREADS_MOST);
      return false;
    }
    out->item[out->count++] = (int32_t)count;
  }
  return true;
}

int devices_open_with(const words *names, const words *threads, device_list *out) {
  *out = (device_list){0};
  thread_counts counts;
  if (!read_threads(threads, &counts)) return EXIT_USAGE;
  words standard = {0};
  if (names->count == 0) {
    const char *chosen = getenv("CONVOY_DEVICE");
    if (!chosen || !*chosen) chosen = "all";
    words_add(&standard, chosen, strlen(chosen));
    names = &standard;
  }
  int status = add_names(names, &counts, out);
  if (status != EXIT_FINE) devices_close(out);
  return status;
}

int devices_open(const words *names, device_list *out) {
  static const words usual;
  return devices_open_with(names, &usual, out);
}

void devices_close(device_list *list) {
  for (int i = 0; i < list->count; i++) convoy_close(list->item[i].context);
  list->count = 0;
}

bool device_has_algorithm(const device *one, const char *name) {
  const char *known = NULL;
  for (int32_t i = 0; (known = convoy_algorithm_name(one->context, i)); i++)
    if (strcmp(known, name) == 0) return true;
  return false;
}

int devices_check_algorithms(const device_list *list, const words *names) {
  for (int i = 0; i < names->count; i++) {
    const char *name = names->item[i];
    bool known = strcmp(name, "auto") == 0 || strcmp(name, "all") == 0;
    for (int d = 0; d < list->count; d++)
      known = known || device_has_algorithm(&list->item[d], name);
    if (known) continue;
    fprintf(stderr, "convoy: no device asked for has an algorithm %s\n", name);
    return EXIT_USAGE;
  }
  return EXIT_FINE;
}
