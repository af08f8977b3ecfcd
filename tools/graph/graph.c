/* Shows how a network's training step, or its evaluation, is carried out: the plan of its graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/clock.h"
#include "common/exit_status.h"
#include "common/options.h"
#include "nets/step.h"

typedef struct graph_settings {
  const char *net, *device;
  int batch, image;
  bool evaluate, captured;
} graph_settings;

/* Doubled until it fits. */
static convoy_status print_text(const convoy_graph *graph, bool captured) {
  convoy_status status = CONVOY_ERR_ARGUMENT;
  for (size_t room = 1 << 18; status == CONVOY_ERR_ARGUMENT && room <= 1 << 28; room *= 2) {
    char *text = malloc(room);
    if (!text) return CONVOY_ERR_MEMORY;
    status = (captured ? convoy_graph_text : convoy_plan_text)(graph, text, room);
    if (!status) fputs(text, stdout);
    free(text);
  }
  return status;
}

static convoy_status show(struct net *net, const struct net_kind *kind, const graph_settings *set) {
  struct net_sizes sizes = {set->batch, kind->classes, {kind->input[0]}};
  struct net_step step;
  convoy_graph_plan plan = {.struct_size = sizeof plan};
  for (int i = 1; i < 3; i++) sizes.input[i] = set->image ? set->image : kind->input[i];
  double start = seconds_now();
  convoy_status status = net_step_make(net, kind, &sizes, !set->evaluate, false, &step);
  double captured = seconds_now();
  if (status) return status;
  status = convoy_plan_graph(step.graph, &plan);
  double planned = seconds_now();
  if (!status) {
    printf(
        "%s, %d images of %lldx%lldx%lld, %s: captured, with parameters, in %.3f s, planned in "
        "%.3f s\n",
        kind->name, set->batch, (long long)sizes.input[0], (long long)sizes.input[1],
        (long long)sizes.input[2], set->evaluate ? "an evaluation" : "a training step",
        captured - start, planned - captured);
    status = print_text(step.graph, set->captured);
  }
  net_step_free(net, &step);
  return status;
}

static int work(const graph_settings *set) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  struct net net;
  options.device = set->device;
  convoy_status status = convoy_open(&options, &context);
  if (status) {
    fprintf(stderr, "convoy graph: %s\n", convoy_last_error());
    return status == CONVOY_ERR_NOT_FOUND ? EXIT_NO_DEVICE : EXIT_FAILED;
  }
  status = net_open(&net, context, 1);
  if (!status) {
    net.dropout = net_kind_named(set->net)->dropout;
    status = show(&net, net_kind_named(set->net), set);
  }
  if (status) fprintf(stderr, "convoy graph: %s: %s\n", set->net, convoy_last_error());
  net_close(&net);
  convoy_close(context);
  return status ? EXIT_FAILED : EXIT_FINE;
}

static const usage about = {
    "graph",
    "Shows the plan of a network's training step: its operations in the order in which they are\n"
    "carried out, what each kind of them computes and moves, and where each result lies in "
    "memory.\n"
    "Nothing is computed.",
    "examples:\n"
    "  convoy graph --net yolov8n --batch 16\n"
    "  CONVOY_GRAPH_PASSES=none convoy graph --net resnet50 --device cpu | less\n",
};

int graph_main(int argc, char **argv) {
  graph_settings set = {.batch = 16};
  const option table[] = {
      {"--net", "NAME", OPTION_TEXT, &set.net,
       "yolov8n, resnet18, resnet50, mobilenet_v2 or eegnet"},
      {"--batch", "N", OPTION_COUNT, &set.batch, "images of a step (16)"},
      {"--image", "N", OPTION_COUNT, &set.image, "height and width of images (the network's own)"},
      {"--evaluate", NULL, OPTION_FLAG, &set.evaluate, "an evaluation instead of a training step"},
      {"--captured", NULL, OPTION_FLAG, &set.captured, "the operations as captured, not planned"},
      {"--device", "NAME", OPTION_TEXT, &set.device, "as CONVOY_DEVICE; one device"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  if (set.net && net_kind_named(set.net)) return work(&set);
  if (set.net)
    fprintf(stderr, "convoy graph: --net %s: there is no such network; there are", set.net);
  else
    fputs("convoy graph: --net is missing; there are", stderr);
  for (int i = 0; net_kind_at(i); i++) fprintf(stderr, "%s %s", i ? "," : "", net_kind_at(i)->name);
  fputs("\n", stderr);
  return EXIT_USAGE;
}
