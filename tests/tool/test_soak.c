/* What the soak makes of memory and descriptors that grow, and of captured steps that went wrong.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "soak/graph.h"
#include "soak/usage.h"

enum { WARM = 40, LEAK = 8 << 20 };

static soak_usage warmed_up(int warm) {
  soak_usage out = {.warm = warm};
  for (int step = 0; step <= warm; step++) soak_usage_note(&out, step);
  return out;
}

static void what_stays_is_no_growth(void **state) {
  (void)state;
  char why[192] = "";
  soak_usage uses = {.warm = WARM};
  for (int step = 0; step < 3 * WARM; step++) {
    int file = step == 5 ? open("/dev/null", O_RDONLY) : -1; /* for one step of the warm-up */
    soak_usage_note(&uses, step);
    if (file >= 0) close(file);
  }
  soak_usage_end(&uses);
  assert_false(soak_usage_grew(&uses, why, sizeof why));
  assert_int_equal(uses.descriptors_growth, -1);
}

static void growth_is_told_with_its_numbers(void **state) {
  (void)state;
  char why[192] = "";
  soak_usage uses = warmed_up(WARM), shorter = warmed_up(WARM - 1);
  int file = open("/dev/null", O_RDONLY);
  soak_usage_note(&uses, WARM + 1);
  soak_usage_end(&uses);
  assert_true(soak_usage_grew(&uses, why, sizeof why));
  assert_string_equal(why, "descriptors: 1 more were open at the end than by step 40");

  char *volatile leak = malloc(LEAK);
  assert_non_null(leak);
  memset(leak, 1, LEAK);
  soak_usage_end(&uses);
  assert_true(soak_usage_grew(&uses, why, sizeof why));
  assert_true(uses.rss_growth >= LEAK / 1024 - 1024);
  assert_non_null(strstr(why, "memory grew by "));
  assert_non_null(strstr(why, ", and descriptors: 1 more"));

  soak_usage_note(&shorter, WARM);
  soak_usage_end(&shorter);
  assert_false(soak_usage_grew(&shorter, why, sizeof why));
  free(leak);
  close(file);
}

static convoy_context *open_cpu(void) {
  convoy_context *out = NULL;
  convoy_options options = CONVOY_OPTIONS_INIT;
  options.device = "cpu";
  assert_int_equal(convoy_open(&options, &out), CONVOY_OK);
  return out;
}

/* Whatever goes on from run to run is another number by one: the step is wrong. */
static void a_captured_step_that_differs_is_wrong(void **state) {
  (void)state;
  static soak_net net;
  static soak_graph graph;
  convoy_context *device = open_cpu(), *cpu = open_cpu();
  for (int which = GRAPH_FILTERS; which <= GRAPH_WEIGHTS_V; which++) {
    int64_t wrong = 0;
    float values[64];
    assert_true(soak_net_make(&net, device, cpu, 1));
    assert_true(soak_graph_make(&graph, &net, true));
    for (uint64_t step = 0; step < 5; step++)
      assert_int_equal(soak_graph_step(&graph, step, &wrong), CONVOY_OK);
    assert_int_equal(wrong, 0);
    convoy_tensor *spoiled = graph.device.tensor[which];
    assert_in_range(graph.count[which], 1, 64);
    assert_int_equal(convoy_tensor_read(spoiled, values, graph.count[which]), CONVOY_OK);
    values[0] += 1.0f;
    assert_int_equal(convoy_tensor_write(spoiled, values, graph.count[which]), CONVOY_OK);
    assert_int_equal(soak_graph_step(&graph, 5, &wrong), CONVOY_OK);
    assert_true(wrong > 0);
    soak_graph_free(&graph);
    soak_net_free(&net);
  }
  convoy_close(device);
  convoy_close(cpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_stays_is_no_growth),
      cmocka_unit_test(growth_is_told_with_its_numbers),
      cmocka_unit_test(a_captured_step_that_differs_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
