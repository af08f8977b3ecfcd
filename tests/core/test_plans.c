/* Plans: whatever passes make of a graph, what tensors get is the same to the bit, since programs
 * are, wherever they are computed. Random networks of programs and reductions with their gradients
 * are carried out with each choice of passes, and with none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "core/capturing.h"
#include "core/fake.h"
#include "core/graph/passes.h"
#include "core/graph/plan.h"
#include "core/open.h"

enum { NETWORKS = 60, BASES = 5, OPERATIONS = 14, MOST_TENSORS = 64, MOST_VALUES = 4096, RUNS = 2 };

static const char *const choices[] = {"none",  "all",       "common", "fuse", "merge",
                                      "views", "recompute", "all",    "none"};

/* What a tensor has elements for. */
typedef enum shape { FULL, CHANNEL, ONE, SHAPES } shape;
static const int64_t extents[SHAPES][4] = {{2, 3, 4, 5}, {1, 3, 1, 1}, {1, 1, 1, 1}};
static int64_t count_of(shape of) {
  return extents[of][0] * extents[of][1] * extents[of][2] * extents[of][3];
}

/* Its results have the extents of the largest operand; a reduction's those that `to` says. */
typedef struct step {
  const char *text;
  int inputs, results;
  shape to; /* SHAPES: of the operands */
} step;
static const step steps[] = {
    {"y = a + b", 2, 1, SHAPES},
    {"y = a * b", 2, 1, SHAPES},
    {"y = max(a, 0)", 1, 1, SHAPES},
    {"y = a * sigmoid(a)", 1, 1, SHAPES},
    {"y = (a - b) * rsqrt(c * c + 1)", 3, 1, SHAPES},
    {"y = a / (1 + abs(b))", 2, 1, SHAPES},
    {"y = a < b ? tanh(a) : b", 2, 1, SHAPES},
    {"s = a + b; d = a - b * 0.5", 2, 2, SHAPES},
    {"y = a * (random(0) < 0.5 ? 2 : 0)", 1, 1, SHAPES},
    {"m = mean over n z h w of a; v = variance over n z h w of a", 1, 2, CHANNEL},
    {"s = sum over n z h w of a * b", 2, 1, CHANNEL},
    {"s = sum over n c z h w of a * b", 2, 1, ONE},
    {"m = maximum over n z h w of a", 1, 1, CHANNEL},
};

typedef struct network {
  convoy_context *context;
  convoy_tensor *tensor[MOST_TENSORS];
  shape of[MOST_TENSORS];
  int count;
  convoy_graph *graph;
  float values[MOST_VALUES]; /* of all that is read after the runs */
  int64_t read;
} network;

static convoy_tensor *make(network *net, shape of) {
  assert_true(net->count < MOST_TENSORS);
  convoy_tensor **tensor = &net->tensor[net->count];
  assert_int_equal(convoy_tensor_new(net->context, 4, extents[of], tensor), CONVOY_OK);
  net->of[net->count++] = of;
  return *tensor;
}

static void make_bases(network *net, test_random *random) {
  for (int i = 0; i < BASES; i++) {
    shape of = i < 2 ? FULL : (shape)(i % SHAPES);
    float values[120];
    test_fill_reals(random, values, count_of(of));
    assert_int_equal(convoy_tensor_write(make(net, of), values, count_of(of)), CONVOY_OK);
  }
}

/* One whose elements are found along the axes of `of`. */
static int pick(const network *net, test_random *random, shape of) {
  int i;
  do i = (int)test_between(random, 0, net->count - 1);
  while (net->of[i] < of || !net->tensor[i]);
  return i;
}

static void apply_step(network *net, test_random *random, const step *what) {
  convoy_tensor *operand[CONVOY_MAX_OPERANDS];
  shape largest = what->to == SHAPES ? (shape)test_between(random, 0, 1) : FULL;
  for (int i = 0; i < what->inputs; i++) operand[i] = net->tensor[pick(net, random, largest)];
  /* The first has the extents of the results, or of what is gone over. */
  int first;
  do first = pick(net, random, largest);
  while (net->of[first] != largest);
  operand[0] = net->tensor[first];
  for (int r = 0; r < what->results; r++)
    operand[what->inputs + r] = make(net, what->to == SHAPES ? largest : what->to);
  convoy_program *program = program_of(what->text);
  assert_int_equal(apply_to(net->context, program, operand, NULL), CONVOY_OK);
  convoy_program_free(program);
}

static void forget(network *net, int i) {
  convoy_tensor_free(net->tensor[i]);
  net->tensor[i] = NULL;
}

/* A sum of all there is, its gradients for what was there before, and some of what lies between. */
static void end_network(network *net, test_random *random) {
  convoy_tensor *of[2] = {net->tensor[0], net->tensor[2]}, *out[2];
  int made = net->count;
  apply_step(net, random, &steps[11]);
  convoy_tensor *loss = net->tensor[net->count - 1];
  out[0] = make(net, net->of[0]);
  out[1] = make(net, net->of[2]);
  convoy_status status = convoy_gradients(net->context, loss, NULL, 2, of, out);
  assert_true(status == CONVOY_OK || status == CONVOY_ERR_UNSUPPORTED);
  for (int i = BASES; i < made; i++)
    if (test_between(random, 0, 2)) forget(net, i);
  net->graph = end(net->context);
}

static void read_all(network *net) {
  net->read = 0;
  for (int i = 0; i < net->count; i++) {
    if (!net->tensor[i]) continue;
    assert_true(net->read + count_of(net->of[i]) <= MOST_VALUES);
    assert_int_equal(
        convoy_tensor_read(net->tensor[i], net->values + net->read, count_of(net->of[i])),
        CONVOY_OK);
    net->read += count_of(net->of[i]);
  }
}

/* `cuts` has a bit for each operation that begins a stage; the last is for the gradients. */
static void run_network(const char *device, const char *passes, uint64_t seed, uint32_t cuts,
                        network *net) {
  test_random random = {seed};
  setenv("CONVOY_GRAPH_PASSES", passes, 1);
  *net = (network){.context = open_named(device, CONVOY_ON)};
  make_bases(net, &random);
  begin(net->context);
  int stages = 1;
  for (int i = 0; i <= OPERATIONS; i++) {
    if (cuts >> i & 1) {
      assert_int_equal(convoy_capture_cut(net->context), CONVOY_OK);
      stages++;
    }
    if (i < OPERATIONS)
      apply_step(net, &random, &steps[test_between(&random, 0, CVY_COUNT(steps) - 1)]);
  }
  end_network(net, &random);
  for (int i = 0; i < RUNS; i++) {
    if (seed % 3) run(net->graph);
    for (int s = 0; s < stages && seed % 3 == 0; s++)
      assert_int_equal(convoy_graph_run_stage(net->graph, s, NULL), CONVOY_OK);
  }
  read_all(net);
}

static void close_network(network *net) {
  convoy_graph_free(net->graph);
  for (int i = 0; i < net->count; i++) convoy_tensor_free(net->tensor[i]);
  convoy_close(net->context);
}

static bool is_same(float a, float b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* None for the first choices of each network, then some. */
static uint32_t cuts_of(uint64_t seed, size_t choice) {
  test_random random = {seed * 31 + choice};
  uint64_t once = test_next(&random), twice = test_next(&random);
  return choice < 2 ? 0 : (uint32_t)(once & twice) & ((2u << OPERATIONS) - 1);
}

static void results_are_the_same_with_any_passes(void **state) {
  (void)state;
  static network plain, planned;
  for (uint64_t seed = 1; seed <= NETWORKS; seed++) {
    run_network("cpu", "none", seed, 0, &plain);
    for (size_t c = 0; c < CVY_COUNT(choices); c++) {
      run_network(capturing_devices[seed % 2], choices[c], seed, cuts_of(seed, c), &planned);
      assert_int_equal(plain.read, planned.read);
      for (int64_t i = 0; i < plain.read; i++)
        if (!is_same(plain.values[i], planned.values[i]))
          fail_msg("network %d, passes %s: value %d is %.9g, not %.9g", (int)seed, choices[c],
                   (int)i, (double)planned.values[i], (double)plain.values[i]);
      close_network(&planned);
    }
    close_network(&plain);
  }
}

/* ------------------------------------------------------------------------------ what becomes of it
 */

enum { BIG = 64 };
static const int64_t map_shape[] = {4, 16, BIG, BIG}, channel_shape[] = {16}, one_shape[] = {1};

static convoy_tensor *tensor(convoy_context *context, int dims, const int64_t *extent) {
  convoy_tensor *made;
  assert_int_equal(convoy_tensor_new(context, dims, extent, &made), CONVOY_OK);
  return made;
}

static void apply(convoy_context *context, const char *text, convoy_tensor *const *operands) {
  convoy_program *program = program_of(text);
  assert_int_equal(apply_to(context, program, operands, NULL), CONVOY_OK);
  convoy_program_free(program);
}

/* Batch norm and SiLU, forward and backward: two sums and two programs over the map, and what comes
 * of the loss. What was normalised is computed again rather than kept. */
static void batch_norm_is_four_operations(void **state) {
  (void)state;
  setenv("CONVOY_GRAPH_PASSES", "common,fuse", 1);
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *x = tensor(context, 4, map_shape), *y = tensor(context, 4, map_shape);
  convoy_tensor *dy = tensor(context, 4, map_shape), *dx = tensor(context, 4, map_shape);
  convoy_tensor *z = tensor(context, 4, map_shape);
  convoy_tensor *channel[6];
  for (int i = 0; i < 6; i++) channel[i] = tensor(context, 1, channel_shape);
  convoy_tensor **mean = &channel[0], **variance = &channel[1], **gamma = &channel[2];
  convoy_tensor **beta = &channel[3];
  begin(context);
  apply(context, "mean = mean over n h w of x; variance = variance over n h w of x",
        (convoy_tensor *[]){x, *mean, *variance});
  apply(context, "z = (x - mean) * rsqrt(variance + 0.001) * gamma + beta",
        (convoy_tensor *[]){x, *mean, *variance, *gamma, *beta, z});
  assert_int_equal(convoy_silu(context, z, y, NULL), CONVOY_OK);
  convoy_tensor_free(z);
  convoy_tensor *of[] = {x, *gamma, *beta}, *out[] = {dx, channel[4], channel[5]};
  assert_int_equal(convoy_gradients(context, y, dy, 3, of, out), CONVOY_OK);
  convoy_tensor_free(*mean);
  convoy_tensor_free(*variance);
  convoy_graph *graph = end(context);
  run(graph);
  assert_int_equal(graph->plan->list.nodes, 4);
  convoy_graph_free(graph);
  convoy_tensor *rest[] = {x, y, dy, dx, *gamma, *beta, channel[4], channel[5]};
  for (size_t i = 0; i < CVY_COUNT(rest); i++) convoy_tensor_free(rest[i]);
  convoy_close(context);
}

/* Each pool is read again by the gradient of the program behind it, and each program's result by
 * that of the pool behind that: of these there are more than anybody has room for. */
enum { POOLS = 6 };
typedef struct pools {
  convoy_graph_plan plan;
  float dx[4 * 16 * BIG * BIG];
} pools;

static void run_pools(const char *limit, pools *out) {
  setenv("CONVOY_GRAPH_PASSES", "all", 1);
  setenv("CONVOY_MEMORY_LIMIT", limit, 1);
  convoy_context *context = open_named("fake", CONVOY_ON);
  unsetenv("CONVOY_MEMORY_LIMIT");
  convoy_window window = CONVOY_WINDOW_INIT(2);
  window.extent[0] = window.extent[1] = 3;
  window.pad_begin[0] = window.pad_begin[1] = window.pad_end[0] = window.pad_end[1] = 1;
  convoy_tensor *x = tensor(context, 4, map_shape), *dx = tensor(context, 4, map_shape);
  convoy_tensor *loss = tensor(context, 1, one_shape), *y[POOLS], *z[POOLS];
  test_random random = {11};
  test_fill_reals(&random, out->dx, CVY_COUNT(out->dx));
  assert_int_equal(convoy_tensor_write(x, out->dx, CVY_COUNT(out->dx)), CONVOY_OK);
  begin(context);
  for (int i = 0; i < POOLS; i++) {
    y[i] = tensor(context, 4, map_shape), z[i] = tensor(context, 4, map_shape);
    assert_int_equal(convoy_max_pool(context, &window, i ? z[i - 1] : x, y[i], NULL), CONVOY_OK);
    apply(context, "z = 0.25 * y * y + y", (convoy_tensor *[]){y[i], z[i]});
  }
  apply(context, "loss = mean over n c h w of z * z", (convoy_tensor *[]){z[POOLS - 1], loss});
  assert_int_equal(convoy_gradients(context, loss, NULL, 1, &x, &dx), CONVOY_OK);
  for (int i = 0; i < POOLS; i++) convoy_tensor_free(y[i]), convoy_tensor_free(z[i]);
  convoy_graph *graph = end(context);
  run(graph);
  run(graph);
  out->plan = (convoy_graph_plan){.struct_size = sizeof out->plan};
  assert_int_equal(convoy_plan_graph(graph, &out->plan), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(dx, out->dx, CVY_COUNT(out->dx)), CONVOY_OK);
  convoy_graph_free(graph);
  convoy_tensor *const all[] = {x, dx, loss};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
  assert_int_equal(fake_seen.arrays, 0);
}

static void what_has_no_room_is_computed_again(void **state) {
  (void)state;
  static pools roomy, some, tight;
  run_pools("0", &roomy);
  run_pools("15M", &some);
  run_pools("1", &tight);
  assert_true(roomy.plan.internal_bytes > some.plan.internal_bytes);
  assert_true(some.plan.internal_bytes > tight.plan.internal_bytes);
  assert_true(roomy.plan.operations < some.plan.operations);
  assert_true(some.plan.operations < tight.plan.operations);
  assert_memory_equal(roomy.dx, some.dx, sizeof roomy.dx);
  assert_memory_equal(roomy.dx, tight.dx, sizeof roomy.dx);
}

static void equal_operations_are_one(void **state) {
  (void)state;
  setenv("CONVOY_GRAPH_PASSES", "common", 1);
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *x = tensor(context, 1, one_shape), *y[4];
  for (int i = 0; i < 4; i++) y[i] = tensor(context, 1, one_shape);
  begin(context);
  apply(context, "y = x * x", (convoy_tensor *[]){x, y[0]});
  apply(context, "y = x * x", (convoy_tensor *[]){x, y[1]});
  add(context, y[0], y[1], y[2]);
  add(context, y[1], y[0], y[3]);
  convoy_graph *graph = end(context);
  const float two = 2;
  assert_int_equal(convoy_tensor_write(x, &two, 1), CONVOY_OK);
  run(graph);
  assert_int_equal(graph->plan->list.nodes, 2);
  for (int i = 0; i < 4; i++) {
    float value;
    assert_int_equal(convoy_tensor_read(y[i], &value, 1), CONVOY_OK);
    assert_true(value == (i < 2 ? 4 : 8));
    convoy_tensor_free(y[i]);
  }
  convoy_graph_free(graph);
  convoy_tensor_free(x);
  convoy_close(context);
}

/* Steps against gradients, of parameters of two sizes, and a sum that lies between and is read. */
static void small_updates_are_merged(void **state) {
  (void)state;
  enum { PARAMETERS = 6, ELEMENTS = 16 };
  static const char update[] = "w = v - 0.5 * g";
  setenv("CONVOY_GRAPH_PASSES", "merge", 1);
  convoy_context *context = open_named("cpu", CONVOY_ON);
  convoy_tensor *w[PARAMETERS], *g = tensor(context, 1, channel_shape);
  convoy_tensor *one = tensor(context, 1, one_shape), *sum = tensor(context, 1, one_shape);
  for (int i = 0; i < PARAMETERS; i++)
    w[i] = tensor(context, 1, i == 2 ? one_shape : channel_shape);
  begin(context);
  for (int i = 0; i < PARAMETERS; i++) {
    apply(context, update, (convoy_tensor *[]){w[i], i == 2 ? one : g, w[i]});
    if (i == 3) apply(context, "y = sum over n c h w of x", (convoy_tensor *[]){w[i], sum});
  }
  convoy_graph *graph = end(context);
  float values[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) values[i] = (float)i;
  assert_int_equal(convoy_tensor_write(g, values, ELEMENTS), CONVOY_OK);
  for (int i = 0; i < 3; i++) run(graph);
  /* Of the five of one size four become one; the other that is read stays where it is. */
  assert_int_equal(graph->plan->list.nodes, 4);
  for (int i = 0; i < PARAMETERS; i++) {
    float got[ELEMENTS];
    assert_int_equal(convoy_tensor_read(w[i], got, i == 2 ? 1 : ELEMENTS), CONVOY_OK);
    for (int k = 0; k < (i == 2 ? 1 : ELEMENTS); k++)
      assert_true(got[k] == (i == 2 ? 0 : -1.5f * (float)k));
    convoy_tensor_free(w[i]);
  }
  convoy_tensor *rest[] = {g, one, sum};
  for (size_t i = 0; i < CVY_COUNT(rest); i++) convoy_tensor_free(rest[i]);
  convoy_graph_free(graph);
  convoy_close(context);
}

/* s = x + w + w + w by a chain that is left as it is, and one more operation that nobody needs. */
static void plans_are_told_in_numbers(void **state) {
  (void)state;
  enum { BYTES = COUNT * sizeof(float), PLACE = 256 };
  setenv("CONVOY_GRAPH_PASSES", "none", 1);
  for (int d = 0; d < 2; d++) {
    convoy_context *context = open_named(capturing_devices[d], CONVOY_ON);
    convoy_tensor *x = filled(context, 1), *w = filled(context, 2), *s = filled(context, 0);
    begin(context);
    convoy_tensor *y = filled(context, 0), *z = filled(context, 0), *none = filled(context, 0);
    add(context, x, w, y);
    add(context, y, w, z);
    add(context, z, w, s);
    add(context, z, z, none);
    convoy_tensor *on_the_way[] = {y, z, none};
    for (int i = 0; i < 3; i++) convoy_tensor_free(on_the_way[i]);
    convoy_graph *graph = end(context);
    convoy_graph_plan plan = {.struct_size = sizeof plan};
    for (int i = 0; i < 2; i++) { /* before a run, and after */
      assert_int_equal(convoy_plan_graph(graph, &plan), CONVOY_OK);
      assert_int_equal(health_of(context).operations, 3 * i);
      assert_int_equal(plan.captured, 4);
      assert_int_equal(plan.operations, 3);
      assert_true(plan.flops == 3.0 * 2.0 * COUNT && plan.bytes == 9.0 * BYTES);
      assert_int_equal(plan.read_bytes, 2 * BYTES);
      assert_int_equal(plan.written_bytes, PLACE);
      assert_int_equal(plan.internal_bytes, 2 * PLACE);
      if (!i) run(graph);
      expect(s, 7);
    }
    char text[2000];
    assert_int_equal(convoy_plan_text(graph, text, sizeof text), CONVOY_OK);
    check_says(text, "3 operations of 4 captured on ");
    check_says(text, "     3 program ");
    check_says(text, "block 0: 512 bytes, of what is made on the way");
    check_says(text, "block 1: 256 bytes, of a run");
    check_says(text, "24 bytes at 0 of block 0, from operation 0 to 1\n");
    check_says(text, "24 bytes at 256 of block 0, from operation 1 to 2\n");
    check_says(text, "24 bytes at 0 of block 1, from operation 2 on\n");
    expect_refused(convoy_plan_text(graph, text, 40), "40 bytes");
    expect_refused(convoy_plan_text(graph, NULL, 40), "text is NULL");
    plan.struct_size = 8;
    expect_refused(convoy_plan_graph(graph, &plan), "struct_size is 8");
    expect_refused(convoy_plan_graph(graph, NULL), "out is NULL");
    plan.struct_size = sizeof plan;
    expect_refused(convoy_plan_graph(NULL, &plan), "graph is NULL");
    convoy_tensor *rest[] = {x, w, s};
    for (int i = 0; i < 3; i++) convoy_tensor_free(rest[i]);
    convoy_close(context);
    expect_refused(convoy_plan_graph(graph, &plan), "closed");
    convoy_graph_free(graph);
  }
}

static void passes_that_are_none_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"",     "fusion", "fuse,",       "none,fuse",
                                      "FUSE", ",",      "fuse,,common"};
  static const char *const right[] = {"all",   "none",  "fuse",     "common,fuse",
                                      "merge", "views", "recompute"};
  uint32_t passes;
  for (size_t i = 0; i < CVY_COUNT(right); i++)
    assert_int_equal(cvy_passes_parse(right[i], &passes), CONVOY_OK);
  for (size_t i = 0; i < CVY_COUNT(wrong); i++) {
    assert_int_equal(cvy_passes_parse(wrong[i], &passes), CONVOY_ERR_ARGUMENT);
    check_says(convoy_last_error(), "CONVOY_GRAPH_PASSES");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(results_are_the_same_with_any_passes, capturing_reset),
      cmocka_unit_test_setup(batch_norm_is_four_operations, capturing_reset),
      cmocka_unit_test_setup(what_has_no_room_is_computed_again, capturing_reset),
      cmocka_unit_test_setup(equal_operations_are_one, capturing_reset),
      cmocka_unit_test_setup(small_updates_are_merged, capturing_reset),
      cmocka_unit_test_setup(plans_are_told_in_numbers, capturing_reset),
      cmocka_unit_test_setup(passes_that_are_none_are_refused, capturing_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
