/* test_places DEVICE COUNTED
 *
 * Where results lie changes none of their bits: small networks of concatenations and slices,
 * forward and backward, with the pass that places them and without any. With COUNTED 1 the device
 * takes plans, and as many of these operations as are said here are done by where their arrays lie.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/device.h"
#include "convoy/convoy.h"
#include "tensors.h"

enum { RUNS = 3, MOST_TENSORS = 32, MOST_VALUES = 1 << 16, N = 2, TEXT = 1 << 16 };

static char device[32];
static bool counted;

/* Tensors in the order in which they are made; those that are freed lie in a plan's memory only. */
typedef struct network {
  convoy_context *context;
  convoy_tensor *tensor[MOST_TENSORS];
  int count, given; /* of them the first are written before each run */
  float *values;
  int64_t read;
  int placed;
} network;

static convoy_tensor *make(network *net, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t shape[] = {n, c, h, w};
  assert_true(net->count < MOST_TENSORS);
  good(convoy_tensor_new(net->context, 4, shape, &net->tensor[net->count]));
  return net->tensor[net->count++];
}

static void forget(network *net, const convoy_tensor *tensor) {
  for (int i = 0; i < net->count; i++) {
    if (net->tensor[i] != tensor) continue;
    convoy_tensor_free(net->tensor[i]);
    net->tensor[i] = NULL;
  }
}

/* ----------------------------------------------------------------------------------- operations */

static convoy_tensor *silu(network *net, convoy_tensor *x) {
  int64_t shape[CONVOY_MAX_DIMS];
  int32_t dims;
  good(convoy_tensor_shape(x, shape, &dims));
  convoy_tensor *y = make(net, shape[0], shape[1], shape[2], shape[3]);
  good(convoy_silu(net->context, x, y, NULL));
  return y;
}

static convoy_tensor *conv(network *net, convoy_tensor *x, convoy_tensor *w) {
  convoy_conv how = CONVOY_CONV_INIT(2);
  int64_t x_shape[CONVOY_MAX_DIMS], w_shape[CONVOY_MAX_DIMS], shape[CONVOY_MAX_DIMS];
  int32_t dims;
  good(convoy_tensor_shape(x, x_shape, &dims));
  good(convoy_tensor_shape(w, w_shape, &dims));
  how.pad_begin[0] = how.pad_begin[1] = how.pad_end[0] = how.pad_end[1] = w_shape[2] / 2;
  good(convoy_output_shape(&how, x_shape, w_shape, shape));
  convoy_tensor *y = make(net, shape[0], shape[1], shape[2], shape[3]);
  good(convoy_forward(net->context, &how, x, w, NULL, NULL, y, NULL));
  return y;
}

static convoy_tensor *slice(network *net, convoy_tensor *x, int64_t begin, int64_t channels) {
  const int64_t begins[] = {0, begin, 0, 0}, steps[] = {1, 1, 1, 1};
  int64_t shape[CONVOY_MAX_DIMS];
  int32_t dims;
  good(convoy_tensor_shape(x, shape, &dims));
  convoy_tensor *y = make(net, shape[0], channels, shape[2], shape[3]);
  good(convoy_slice(net->context, begins, steps, x, y, NULL));
  return y;
}

static convoy_tensor *concatenate(network *net, int32_t axis, int32_t count,
                                  convoy_tensor *const *of) {
  int64_t shape[CONVOY_MAX_DIMS], together = 0;
  int32_t dims;
  for (int32_t i = 0; i < count; i++) {
    good(convoy_tensor_shape(of[i], shape, &dims));
    together += shape[axis];
  }
  shape[axis] = together;
  convoy_tensor *y = make(net, shape[0], shape[1], shape[2], shape[3]);
  good(convoy_concatenate(net->context, axis, count, (const convoy_tensor *const *)of, y, NULL));
  return y;
}

#define CONCATENATE(net, axis, ...)                                                            \
  concatenate(net, axis, (int32_t)(sizeof((convoy_tensor *[]){__VA_ARGS__}) / sizeof(void *)), \
              (convoy_tensor *[]){__VA_ARGS__})

/* ------------------------------------------------------------------------------------- networks */

/* Each begins with what is given, for which `begin` has made tensors. */
static convoy_tensor *given(network *net, int64_t n, int64_t c, int64_t h, int64_t w) {
  convoy_tensor *made = make(net, n, c, h, w);
  net->given = net->count;
  return made;
}

static void start(network *net) {
  good(convoy_capture_begin(net->context));
}

/* The block of YOLOv8: half of what a convolution makes goes on, and all is put together. Backward
 * the parts of the gradient are slices; that of the half, which is padded, is still a copy. */
static void c2f(network *net) {
  convoy_tensor *x = given(net, N, 8, 6, 6), *w = given(net, 16, 8, 1, 1);
  convoy_tensor *inner = given(net, 8, 8, 3, 3), *last = given(net, 8, 24, 1, 1);
  convoy_tensor *dy = given(net, N, 8, 6, 6);
  convoy_tensor *dx = make(net, N, 8, 6, 6), *dw = make(net, 16, 8, 1, 1);
  convoy_tensor *d_inner = make(net, 8, 8, 3, 3);
  start(net);
  convoy_tensor *y = conv(net, x, w), *a = silu(net, y), *half = slice(net, a, 8, 8);
  convoy_tensor *b = conv(net, half, inner), *c = silu(net, b), *all = CONCATENATE(net, 1, a, c);
  convoy_tensor *z = conv(net, all, last), *of[] = {x, w, inner}, *out[] = {dx, dw, d_inner};
  good(convoy_gradients(net->context, z, dy, 3, of, out));
  convoy_tensor *rest[] = {y, a, half, b, c, all};
  for (int i = 0; i < 6; i++) forget(net, rest[i]);
}

/* The block of pools: all inputs of one concatenation, each read by the next. */
static void pools(network *net) {
  convoy_window window = CONVOY_WINDOW_INIT(2);
  convoy_tensor *x = given(net, N, 4, 6, 6), *p[4];
  for (int i = 0; i < 2; i++) {
    window.extent[i] = 5;
    window.pad_begin[i] = window.pad_end[i] = 2;
  }
  start(net);
  p[0] = silu(net, x);
  for (int i = 1; i < 4; i++) {
    p[i] = make(net, N, 4, 6, 6);
    good(convoy_max_pool(net->context, &window, p[i - 1], p[i], NULL));
  }
  convoy_tensor *all = concatenate(net, 1, 4, p);
  silu(net, all);
  for (int i = 0; i < 4; i++) forget(net, p[i]);
  forget(net, all);
}

/* It lies in one of them only. */
static void a_value_of_two(network *net) {
  convoy_tensor *x = given(net, N, 4, 4, 4), *z = given(net, N, 4, 4, 4);
  start(net);
  convoy_tensor *a = silu(net, x), *b = silu(net, z);
  convoy_tensor *first = CONCATENATE(net, 1, a, b), *second = CONCATENATE(net, 1, b, a);
  convoy_tensor *twice = CONCATENATE(net, 1, a, a);
  silu(net, first);
  silu(net, second);
  silu(net, twice);
  convoy_tensor *rest[] = {a, b, first, second, twice};
  for (int i = 0; i < 5; i++) forget(net, rest[i]);
}

static void along_images(network *net) {
  convoy_tensor *x = given(net, 1, 3, 5, 5), *z = given(net, N, 3, 5, 5);
  start(net);
  convoy_tensor *a = silu(net, x), *b = silu(net, z), *all = CONCATENATE(net, 0, a, b);
  silu(net, all);
  forget(net, a);
  forget(net, b);
  forget(net, all);
}

/* Parts of 75 elements and one of 100, which as a part would begin at no multiple of four. */
static void odd_channels(network *net) {
  convoy_tensor *x = given(net, N, 3, 5, 5), *z = given(net, N, 4, 5, 5);
  convoy_tensor *w = given(net, 3, 3, 3, 3);
  start(net);
  convoy_tensor *a = conv(net, x, w), *b = silu(net, a), *c = silu(net, z);
  convoy_tensor *all = CONCATENATE(net, 1, a, b), *other = CONCATENATE(net, 1, b, c);
  silu(net, all);
  silu(net, other);
  convoy_tensor *rest[] = {a, b, c, all, other};
  for (int i = 0; i < 5; i++) forget(net, rest[i]);
}

/* A part of what is given is read there; nothing that tensors have or get lies within another. */
static void given_and_kept(network *net) {
  convoy_tensor *x = given(net, N, 8, 4, 4);
  start(net);
  convoy_tensor *half = slice(net, x, 4, 4), *a = silu(net, half), *b = silu(net, a);
  convoy_tensor *all = CONCATENATE(net, 1, x, a, b);
  slice(net, b, 2, 2); /* kept, as is a */
  silu(net, all);
  forget(net, half);
  forget(net, b);
}

/* The neck of YOLOv8: what is made larger is put together with what was there before. */
static void neck(network *net) {
  convoy_resampling twice = CONVOY_RESAMPLING_INIT(2);
  convoy_tensor *x = given(net, N, 4, 4, 4), *z = given(net, N, 4, 8, 8);
  convoy_tensor *dy = given(net, N, 8, 8, 8);
  convoy_tensor *dx = make(net, N, 4, 4, 4), *dz = make(net, N, 4, 8, 8);
  start(net);
  convoy_tensor *a = silu(net, x), *large = make(net, N, 4, 8, 8), *b = silu(net, z);
  good(convoy_resample(net->context, &twice, a, large, NULL));
  convoy_tensor *all = CONCATENATE(net, 1, large, b), *y = silu(net, all);
  convoy_tensor *of[] = {x, z}, *out[] = {dx, dz};
  good(convoy_gradients(net->context, y, dy, 2, of, out));
  convoy_tensor *rest[] = {a, large, b, all};
  for (int i = 0; i < 4; i++) forget(net, rest[i]);
}

/* What lies beside a part belongs to others: halves of one value at two ends of another, and bytes
 * where the value would go on. */
static void parts_of_others(network *net) {
  convoy_tensor *x = given(net, N, 4, 4, 4), *z = given(net, N, 2, 4, 4);
  const int64_t shape[] = {N, 2, 4, 4};
  convoy_tensor *bytes;
  good(convoy_tensor_new_typed(net->context, CONVOY_UINT8, 4, shape, &bytes));
  start(net);
  convoy_tensor *a = silu(net, x), *low = slice(net, a, 0, 2), *high = slice(net, a, 2, 2);
  convoy_tensor *c = silu(net, z), *mixed = CONCATENATE(net, 1, low, bytes);
  convoy_tensor *turned = CONCATENATE(net, 1, high, c, low);
  silu(net, mixed);
  silu(net, turned);
  silu(net, a);
  silu(net, high);
  convoy_tensor *rest[] = {a, low, high, c, mixed, turned};
  for (int i = 0; i < 6; i++) forget(net, rest[i]);
  convoy_tensor_free(bytes);
}

typedef struct network_case {
  const char *name;
  void (*build)(network *net);
  int placed; /* operations that are done by where arrays lie */
} network_case;
static const network_case cases[] = {
    {"c2f", c2f, 4},
    {"pools", pools, 1},
    {"neck", neck, 3},
    {"a value of two", a_value_of_two, 1},
    {"along images", along_images, 1},
    {"odd channels", odd_channels, 1},
    {"given and kept", given_and_kept, 1},
    {"parts of others", parts_of_others, 2},
};

/* ----------------------------------------------------------------------------------------- runs */

/* Some are NaN and infinite: nobody may compute with what is beside its part. */
static void write_given(network *net, uint32_t random) {
  static float values[MOST_VALUES];
  for (int t = 0; t < net->given; t++) {
    int64_t count = count_of(net->tensor[t]);
    for (int64_t i = 0; i < count; i++) {
      random = random * 1664525u + 1013904223u;
      values[i] = (float)(random >> 8) / (1 << 23) - 1.0f;
      if (random % 397 == 0) values[i] = random & 4096 ? NAN : INFINITY;
    }
    good(convoy_tensor_write(net->tensor[t], values, count));
  }
}

static void read_all(network *net) {
  for (int t = 0; t < net->count; t++) {
    if (!net->tensor[t]) continue;
    int64_t count = count_of(net->tensor[t]);
    assert_true(net->read + count <= MOST_VALUES);
    good(convoy_tensor_read(net->tensor[t], net->values + net->read, count));
    net->read += count;
  }
}

static int count_placed(const convoy_graph *graph) {
  static char text[TEXT];
  int count = 0;
  good(convoy_plan_text(graph, text, sizeof text));
  for (const char *at = text; (at = strstr(at, ", by where they lie")); at++) count++;
  return count;
}

static network run(const network_case *what, const char *passes) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_graph *graph;
  network net = {.values = calloc(MOST_VALUES, sizeof(float))};
  assert_non_null(net.values);
  setenv("CONVOY_GRAPH_PASSES", passes, 1);
  options.device = device;
  options.failover = CONVOY_NO;
  options.tune = CONVOY_NO;
  good(convoy_open(&options, &net.context));
  what->build(&net);
  good(convoy_capture_end(net.context, &graph));
  for (int r = 0; r < RUNS; r++) {
    write_given(&net, (uint32_t)(r + 1));
    good(convoy_graph_run(graph, NULL));
    read_all(&net);
  }
  net.placed = count_placed(graph);
  convoy_graph_free(graph);
  for (int t = 0; t < net.count; t++) convoy_tensor_free(net.tensor[t]);
  convoy_close(net.context);
  return net;
}

static void places_change_no_bits(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    network plain = run(&cases[c], "none"), placed = run(&cases[c], "views");
    assert_true(plain.read == placed.read && plain.read > 0);
    for (int64_t i = 0; i < plain.read; i++)
      if (memcmp(&plain.values[i], &placed.values[i], sizeof(float)) != 0)
        fail_msg("%s: value %d is %.9g, not %.9g", cases[c].name, (int)i, (double)placed.values[i],
                 (double)plain.values[i]);
    int wanted = counted ? cases[c].placed : 0;
    if (placed.placed != wanted)
      fail_msg("%s: %d operations are placed, not %d", cases[c].name, placed.placed, wanted);
    assert_int_equal(plain.placed, 0);
    free(plain.values);
    free(placed.values);
  }
}

int main(int count, char **arguments) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(places_change_no_bits)};
  if (count != 3) return 2;
  const int status = test_find(arguments[1], device, sizeof device);
  if (status) return status;
  counted = arguments[2][0] == '1';
  return cmocka_run_group_tests(tests, NULL, NULL);
}
