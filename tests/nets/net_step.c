/* net_step NAME DEVICE train|evaluate DROPOUT BATCH CLASSES CHANNELS HEIGHT WIDTH FROM TO
 *
 * Captures a step of the network, gives it all values that the state file FROM has (parameters by
 * their names; input, labels, rate, given.0 and so on), runs it, and writes to the state file TO
 * what there is then, with output.0 and so on, loss, gradient.NAME, and what activations and
 * additions made, in their order, as seen.0 and so on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nets/step.h"

enum { ARGUMENTS = 12, MOST_SEEN = 256 };

static convoy_tensor *seen[MOST_SEEN];
static int seen_count;

static void must(convoy_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s: %s\n", what, convoy_status_name(status), convoy_last_error());
  exit(1);
}

/* Evaluations are not looked into. */
static void keep(void *user, struct net_capture *c, struct net_value activation) {
  (void)user;
  if (c->training && seen_count < MOST_SEEN) seen[seen_count++] = net_keep(c, activation);
}

static void add(convoy_state *state, const char *name, convoy_tensor *tensor) {
  if (tensor) must(convoy_state_tensor(state, name, tensor), name);
}

static void add_numbered(convoy_state *state, const char *name, convoy_tensor *const *tensors,
                         int count) {
  char full[32];
  for (int i = 0; i < count; i++) {
    snprintf(full, sizeof full, "%s.%d", name, i);
    add(state, full, tensors[i]);
  }
}

static void load(const struct net *net, const struct net_step *step, const char *path) {
  convoy_state *state;
  must(convoy_state_new(net->context, &state), "state");
  must(net_add_weights(net, state), "weights");
  add(state, "input", step->input);
  add(state, "labels", step->labels);
  if (step->loss) add(state, "rate", net->rate);
  add_numbered(state, "given", step->given, NET_OUTPUTS);
  must(convoy_state_load(state, path, CONVOY_STATE_EXTRA), "load");
  convoy_state_free(state);
}

static void save(const struct net *net, const struct net_step *step, const char *path) {
  convoy_state *state;
  char name[NET_NAME + 16];
  must(convoy_state_new(net->context, &state), "state");
  must(net_add_weights(net, state), "weights");
  add_numbered(state, "output", step->outputs, NET_OUTPUTS);
  add_numbered(state, "seen", seen, seen_count);
  add(state, "loss", step->loss);
  for (int i = 0, k = 0; step->gradients && i < net->count; i++) {
    if (!net->parameters[i].trained) continue;
    snprintf(name, sizeof name, "gradient.%s", net->parameters[i].name);
    add(state, name, step->gradients[k++]);
  }
  must(convoy_state_save(state, path), "save");
  convoy_state_free(state);
}

int main(int count, char **arguments) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  struct net net;
  struct net_step step;
  const struct net_kind *kind = count == ARGUMENTS ? net_kind_named(arguments[1]) : NULL;
  if (!kind) {
    fputs("usage: see net_step.c\n", stderr);
    return 2;
  }
  int64_t numbers[5];
  for (int i = 0; i < 5; i++) numbers[i] = strtoll(arguments[5 + i], NULL, 10);
  const struct net_sizes sizes = {numbers[0], numbers[1], {numbers[2], numbers[3], numbers[4]}};
  options.device = arguments[2];
  options.failover = CONVOY_NO;
  options.tune = CONVOY_NO;
  must(convoy_open(&options, &context), "device");
  must(net_open(&net, context, 1), "network");
  net.dropout = strtod(arguments[4], NULL);
  net.look = keep;
  must(net_step_make(&net, kind, &sizes, !strcmp(arguments[3], "train"), true, &step), "capture");
  load(&net, &step, arguments[10]);
  must(convoy_graph_run(step.graph, NULL), "run");
  save(&net, &step, arguments[11]);
  for (int i = 0; i < seen_count; i++) convoy_tensor_free(seen[i]);
  net_step_free(&net, &step);
  net_close(&net);
  convoy_close(context);
  return 0;
}
