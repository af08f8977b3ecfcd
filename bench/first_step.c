/* What a trainer waits for in its first step: every layer of a table forward, then backward in reverse,
 * once each, in a process that has nothing compiled yet. With an empty CONVOY_CACHE_DIR it is cold, with what
 * an earlier run left there warm. Drivers have caches of their own: NVIDIA's is emptied with
 * CUDA_CACHE_PATH=(an empty folder). Usage: first_step DEVICE TABLE [host | prepared] (host: every call on host
 * memory; prepared: after convoy_prepare for all) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "progress.h"
#include "shapes.h"

typedef struct pass {
  problem about;
  operands data;
  tensors on_device;
} pass;

typedef struct network {
  convoy_context *context;
  bool host;
  int count;
  pass *passes; /* in the order of a step */
} network;

static bool make_pass(network *net, const layer *from, convoy_direction direction) {
  pass *made = &net->passes[net->count++];
  made->about = from->shape;
  made->about.direction = direction;
  if (!operands_make(&made->about, fill_real, false, &made->data)) return false;
  return net->host ||
         tensors_make(net->context, &made->about, &made->data, &made->on_device) == CONVOY_OK;
}

static bool make_passes(network *net, const layer_table *table) {
  bool good = true;
  net->passes = calloc((size_t)table->count * 3, sizeof *net->passes);
  if (!net->passes) return false;
  for (int i = 0; good && i < table->count; i++)
    good = make_pass(net, &table->layers[i], CONVOY_FORWARD);
  for (int i = table->count - 1; good && i >= 0; i--)
    good = make_pass(net, &table->layers[i], CONVOY_BACKWARD_DATA) &&
           make_pass(net, &table->layers[i], CONVOY_BACKWARD_WEIGHTS);
  return good;
}

static bool run_step(network *net) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; status == CONVOY_OK && i < net->count; i++) {
    pass *one = &net->passes[i];
    status = net->host ? call_host(net->context, &one->about, &one->data, 0.0f, NULL, NULL)
                       : call_tensors(net->context, &one->about, &one->on_device, NULL);
  }
  return status == CONVOY_OK && convoy_sync(net->context) == CONVOY_OK;
}

static bool prepare(network *net) {
  bool good = true;
  for (int i = net->count - 1; good && i >= 0; i--) {
    const problem *about = &net->passes[i].about;
    good = convoy_prepare(net->context, &about->conv, about->direction, about->x_shape,
                          about->w_shape) == CONVOY_OK;
  }
  return good;
}

static bool report(network *net, double opened) {
  convoy_health health = {.struct_size = sizeof health};
  double seconds[2];
  for (int i = 0; i < 2; i++) {
    const double start = seconds_now();
    if (!run_step(net)) return false;
    seconds[i] = seconds_now() - start;
  }
  if (convoy_get_health(net->context, &health) != CONVOY_OK) return false;
  printf(
      "%s: %d operations; opened in %.2f s, first step %.2f s, second %.3f s; %lld programs "
      "compiled, %lld from the cache; verified for %.2f s\n",
      net->host ? "host" : "tensors", net->count, opened, seconds[0], seconds[1],
      (long long)health.programs_compiled, (long long)health.programs_cached,
      1e-9 * (double)health.verify_nanoseconds);
  return true;
}

int main(int argc, char **argv) {
  layer_table table;
  char why[512];
  const char *mode = argc == 4 ? argv[3] : "";
  const bool prepared = strcmp(mode, "prepared") == 0;
  network net = {.host = strcmp(mode, "host") == 0};
  if (argc != 3 && !net.host && !prepared) {
    fputs("usage: first_step DEVICE TABLE [host | prepared]\n", stderr);
    return 2;
  }
  if (!shapes_read(argv[2], &table, why, sizeof why)) {
    fprintf(stderr, "first_step: %s\n", why);
    return 2;
  }
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = argv[1];
  options.failover = CONVOY_NO;
  const double start = seconds_now();
  bool good = convoy_open(&options, &net.context) == CONVOY_OK;
  const double opened = seconds_now() - start;
  good = good && make_passes(&net, &table) && (!prepared || prepare(&net)) && report(&net, opened);
  if (!good) fprintf(stderr, "first_step: %s\n", convoy_last_error());
  for (int i = 0; i < net.count; i++) {
    operands_free(&net.passes[i].data);
    tensors_free(&net.passes[i].on_device);
  }
  free(net.passes);
  convoy_close(net.context);
  csv_free(&table);
  return good ? 0 : 1;
}
