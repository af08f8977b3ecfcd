/* What a graph costs grows as it does: ten times the nodes take at most 16 times as long, where it
 * is 10 to 13 beside other tests that take turns in the caches, and a square would be 100: from the
 * capture with its gradients to the plan, a run, and until all is freed, whatever its shape is. On
 * the CPU engine and, with the passes and places of one command, on a device.
 *
 * Time is the process's own, the least of some tries, so that other programs' load counts little.
 * Ten of the small graphs are there at the same time: they need as much memory as the large one,
 * and caches are of as little use.
 *
 * By hand with a device, a number of nodes, and "plan" for no run: test_core_growth cpu 200000. */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

enum { FEW = 6000, MANY = 60000, TRIES = 5, EXTENT = 4 };
#define MOST_GROWTH 16.0

static const int64_t extent[] = {1, 1, EXTENT}, few_images[] = {2, 1, EXTENT};
static const char *device = "cpu";
static bool runs = true;

typedef struct network {
  convoy_context *context;
  convoy_tensor **tensor; /* the handles that are still there at the end */
  int tensors;
} network;

static convoy_tensor *make(network *net, const int64_t *shape) {
  return net->tensor[net->tensors++] = tensor_of(net->context, shape, NULL);
}

/* A result that the user gives up at once, as functions of a framework do. */
static convoy_tensor *internal(const network *net) {
  return tensor_of(net->context, extent, NULL);
}

static void add(const network *net, convoy_tensor *a, convoy_tensor *b, convoy_tensor *y) {
  assert_int_equal(convoy_add(net->context, a, b, y, NULL), CONVOY_OK);
}

static void multiply(const network *net, convoy_tensor *a, convoy_tensor *b, convoy_tensor *y) {
  static convoy_program *program;
  convoy_tensor *operands[] = {a, b, y};
  if (!program) program = program_of("y = a * b");
  assert_int_equal(apply_to(net->context, program, operands, NULL), CONVOY_OK);
}

/* --------------------------------------------------------------------------------------- shapes */

/* Each reads the one before. */
static void chain(network *net, int nodes) {
  convoy_tensor *x = make(net, extent), *y = x;
  for (int i = 0; i < nodes; i++) {
    convoy_tensor *next = i + 1 < nodes ? internal(net) : make(net, extent);
    add(net, y, x, next);
    if (y != x) convoy_tensor_free(y);
    y = next;
  }
}

/* Updates in place, as of parameters. */
static void independent(network *net, int nodes) {
  for (int i = 0; i < nodes; i++) {
    convoy_tensor *w = make(net, extent);
    add(net, w, w, w);
  }
}

/* The same of something that all read, as a rate. */
static void updates(network *net, int nodes) {
  convoy_tensor *rate = make(net, extent);
  for (int i = 0; i < nodes; i++) {
    convoy_tensor *w = make(net, extent);
    multiply(net, w, rate, w);
  }
}

/* One result that all others are made of. */
static void fan(network *net, int nodes) {
  convoy_tensor *x = make(net, extent), *y = internal(net);
  add(net, x, x, y);
  for (int i = 1; i < nodes; i++) multiply(net, y, make(net, extent), make(net, extent));
  convoy_tensor_free(y);
}

/* Sums of two, of these sums of two, down to one. */
static void tree(network *net, int nodes) {
  convoy_tensor **sum = malloc((2 * (size_t)nodes + 1) * sizeof(convoy_tensor *));
  assert_non_null(sum);
  for (int i = 0; i <= nodes; i++) sum[i] = make(net, extent);
  for (int i = 0; i < nodes; i++) {
    convoy_tensor *y = i + 1 < nodes ? internal(net) : make(net, extent);
    add(net, sum[2 * i], sum[2 * i + 1], y);
    for (int k = 2 * i; k <= 2 * i + 1; k++)
      if (k > nodes) convoy_tensor_free(sum[k]);
    sum[nodes + 1 + i] = y;
  }
  free(sum);
}

/* All into one tensor. */
static void accumulation(network *net, int nodes) {
  convoy_tensor *sum = make(net, extent);
  for (int i = 0; i < nodes; i++) add(net, sum, make(net, extent), sum);
}

/* There and back: what the way there makes is read on the way back, the last first, by gradients of
 * as many tensors. */
static void training(network *net, int nodes) {
  int layers = nodes / 3;
  convoy_tensor **of = malloc((size_t)layers * sizeof(convoy_tensor *)),
                **out = malloc((size_t)layers * sizeof(convoy_tensor *));
  convoy_tensor *y = make(net, extent);
  convoy_tensor *dy = make(net, extent);
  assert_true(of && out);
  for (int i = 0; i < layers; i++) {
    convoy_tensor *next = i + 1 < layers ? internal(net) : make(net, extent);
    of[i] = make(net, extent);
    out[i] = make(net, extent);
    multiply(net, y, of[i], next);
    if (i) convoy_tensor_free(y);
    y = next;
  }
  assert_int_equal(convoy_gradients(net->context, y, dy, layers, of, out), CONVOY_OK);
  free(of);
  free(out);
}

/* In two stages, where the second reads much of what the first has made. */
static void stages(network *net, int nodes) {
  convoy_tensor **made = malloc((size_t)nodes * sizeof(convoy_tensor *));
  convoy_tensor *x = make(net, extent);
  assert_non_null(made);
  for (int i = 0; i < nodes; i++) {
    if (i == nodes / 2) assert_int_equal(convoy_capture_cut(net->context), CONVOY_OK);
    made[i] = make(net, extent);
    multiply(net, x, i < nodes / 2 ? x : made[i - nodes / 2], made[i]);
    x = made[i];
  }
  free(made);
}

/* Concatenations of what is made for them, and slices of those. */
static void parts(network *net, int nodes) {
  const int64_t begin[] = {1, 0, 0}, step[] = {1, 1, 1};
  for (int i = 0; i < nodes / 4; i++) {
    convoy_tensor *a = internal(net), *b = internal(net), *part = internal(net);
    convoy_tensor *both = tensor_of(net->context, few_images, NULL);
    const convoy_tensor *const in[] = {a, b};
    convoy_tensor *w = make(net, extent);
    add(net, w, w, a);
    multiply(net, w, w, b);
    assert_int_equal(convoy_concatenate(net->context, 0, 2, in, both, NULL), CONVOY_OK);
    assert_int_equal(convoy_slice(net->context, begin, step, both, part, NULL), CONVOY_OK);
    add(net, part, w, make(net, extent));
    convoy_tensor *gone[] = {a, b, part, both};
    for (size_t k = 0; k < sizeof gone / sizeof gone[0]; k++) convoy_tensor_free(gone[k]);
  }
}

typedef struct shape {
  const char *name;
  void (*note)(network *net, int nodes);
} shape;
static const shape shapes[] = {
    {"chain", chain}, {"independent", independent},   {"updates", updates},   {"fan", fan},
    {"tree", tree},   {"accumulation", accumulation}, {"training", training}, {"stages", stages},
    {"parts", parts},
};

/* ---------------------------------------------------------------------------------------- time */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

enum { MOST_GRAPHS = 10 };

static void capture(network *net, const shape *what, int nodes, convoy_graph **graph) {
  assert_int_equal(convoy_capture_begin(net->context), CONVOY_OK);
  what->note(net, nodes);
  assert_int_equal(convoy_capture_end(net->context, graph), CONVOY_OK);
}

/* The first run plans, for both. */
static void run_twice(convoy_graph *graph) {
  for (int i = 0; i < 2; i++)
    if (convoy_graph_run(graph, NULL)) fail_msg("%s", convoy_last_error());
}

static void plan(const convoy_graph *graph) {
  convoy_graph_plan sums = {.struct_size = sizeof sums};
  if (convoy_plan_graph(graph, &sums)) fail_msg("%s", convoy_last_error());
}

/* Of so many graphs that are there at the same time. */
static double seconds_of(const shape *what, int nodes, int graphs) {
  size_t tensors = (3 * (size_t)nodes + 8) * (size_t)graphs;
  convoy_graph *graph[MOST_GRAPHS];
  network net = {.context = open_named(device, CONVOY_NO),
                 .tensor = malloc(tensors * sizeof(convoy_tensor *))};
  assert_non_null(net.tensor);
  double began = now();
  for (int i = 0; i < graphs; i++) capture(&net, what, nodes, &graph[i]);
  for (int i = 0; i < graphs; i++) runs ? run_twice(graph[i]) : plan(graph[i]);
  for (int i = 0; i < graphs; i++) convoy_graph_free(graph[i]);
  for (int i = 0; i < net.tensors; i++) convoy_tensor_free(net.tensor[i]);
  double seconds = now() - began;
  free(net.tensor);
  convoy_close(net.context);
  return seconds;
}

/* Both anew where the machine was in the way. */
static double growth_of(const shape *what) {
  double few = 1e9, many = 1e9;
  for (int i = 0; i < TRIES && !(many <= MOST_GROWTH * few && few < 1e9); i++) {
    few = fmin(few, seconds_of(what, FEW, MOST_GRAPHS) / MOST_GRAPHS);
    many = fmin(many, seconds_of(what, MANY, 1));
    print_message("%s: %d nodes %.4f s, %d nodes %.4f s: %.1f times\n", what->name, FEW, few, MANY,
                  many, many / few);
  }
  return many / few;
}

static void check_all(const char *on) {
  device = on;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    if (!(growth_of(&shapes[i]) <= MOST_GROWTH)) fail_msg("%s on %s", shapes[i].name, on);
}

static void on_the_cpu_engine(void **state) {
  (void)state;
  check_all("cpu");
}

static void on_a_device(void **state) {
  (void)state;
  fake_reset();
  fake_takes_plans();
  runs = false; /* it looks for its arrays one by one */
  check_all("fake");
}

static int by_hand(int count, char **arguments) {
  int nodes = atoi(arguments[2]);
  device = arguments[1];
  runs = !(count > 3 && strcmp(arguments[3], "plan") == 0);
  if (strcmp(device, "fake") == 0) fake_takes_plans();
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    if (count > 4 && strcmp(arguments[4], shapes[i].name) != 0) continue;
    printf("%s %d nodes: ", shapes[i].name, nodes);
    fflush(stdout);
    printf("%.3f s\n", seconds_of(&shapes[i], nodes, 1));
  }
  return 0;
}

int main(int count, char **arguments) {
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  mallopt(M_MMAP_MAX, 0); /* what the kernel does for new pages is its own affair */
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  if (count > 2) return by_hand(count, arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu_engine),
      cmocka_unit_test(on_a_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
