#include "core/capturing.h"

#include <stdlib.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

const int64_t capturing_shape[3] = {1, 2, 3};
const char *const capturing_devices[2] = {"cpu", "fake"};

int capturing_reset(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  setenv("CONVOY_GRAPH_PASSES", "none", 1); /* these count operations */
  fake_reset();
  return 0;
}

convoy_tensor *filled(convoy_context *context, float value) {
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = value;
  return tensor_of(context, capturing_shape, values);
}

void fill(convoy_tensor *tensor, float value) {
  float values[COUNT];
  for (int i = 0; i < COUNT; i++) values[i] = value;
  assert_int_equal(convoy_tensor_write(tensor, values, COUNT), CONVOY_OK);
}

void expect(convoy_tensor *tensor, float value) {
  float wanted[COUNT];
  for (int i = 0; i < COUNT; i++) wanted[i] = value;
  check_tensor(tensor, wanted);
}

void expect_refused(convoy_status status, const char *word) {
  assert_int_equal(status, CONVOY_ERR_ARGUMENT);
  check_says(convoy_last_error(), word);
}

void run(convoy_graph *graph) {
  assert_int_equal(convoy_graph_run(graph, NULL), CONVOY_OK);
}

void add(convoy_context *context, convoy_tensor *a, convoy_tensor *b, convoy_tensor *y) {
  assert_int_equal(convoy_add(context, a, b, y, NULL), CONVOY_OK);
}

void begin(convoy_context *context) {
  assert_int_equal(convoy_capture_begin(context), CONVOY_OK);
}

convoy_graph *end(convoy_context *context) {
  convoy_graph *graph = NULL;
  assert_int_equal(convoy_capture_end(context, &graph), CONVOY_OK);
  assert_non_null(graph);
  return graph;
}
