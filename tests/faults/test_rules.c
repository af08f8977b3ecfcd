/* The grammar of CONVOY_FAULT: what it says, and that every mistake is told. */
#include "faults/layer/rules.h"

#include <stdio.h>
#include <string.h>

#include "common/cmocka.h"

enum { MOST = 4 };

static int read_text(const char *text, fault_rule *out, char why[160]) {
  why[0] = 0;
  return fault_rules_read(text, out, MOST, why, 160);
}

static void test_good(void **state) {
  fault_rule rules[MOST];
  char why[160];
  (void)state;
  assert_int_equal(read_text("", rules, why), 0);
  const char *text =
      "clFinish#2=hang,clEnqueueNDRangeKernel#3+=stall,clCreateBuffer=fail:-4,"
      "clFlush#9=slow:50";
  assert_int_equal(read_text(text, rules, why), 4);
  const fault_rule wanted[] = {{"clFinish", 2, false, FAULT_HANG, 0},
                               {"clEnqueueNDRangeKernel", 3, true, FAULT_STALL, 0},
                               {"clCreateBuffer", 1, true, FAULT_FAIL, -4},
                               {"clFlush", 9, false, FAULT_SLOW, 50}};
  for (int i = 0; i < 4; i++) {
    assert_string_equal(rules[i].entry, wanted[i].entry);
    assert_int_equal(rules[i].first, wanted[i].first);
    assert_int_equal(rules[i].later, wanted[i].later);
    assert_int_equal(rules[i].action, wanted[i].action);
    assert_int_equal(rules[i].value, wanted[i].value);
  }
}

static void test_every_action(void **state) {
  (void)state;
  for (int action = FAULT_NONE + 1; action < FAULT_ACTIONS; action++) {
    fault_rule rule[MOST];
    char text[64], why[160];
    snprintf(text, sizeof text, "clFinish=%s%s", fault_action_name((fault_action)action),
             action == FAULT_SLOW ? ":1" : "");
    assert_int_equal(read_text(text, rule, why), 1);
    assert_int_equal(rule[0].action, action);
    assert_int_equal(rule[0].value, action == FAULT_FAIL ? -5 : action == FAULT_SLOW);
  }
}

static void test_mistakes(void **state) {
  static const struct {
    const char *text, *why;
  } cases[] = {
      {"clFinish", "needs '='"},
      {"Finish=hang", "name of an OpenCL function"},
      {"gpuLaunch=hang", "name of an OpenCL function"},
      {"clFinish#=hang", "number of a call"},
      {"clFinish#0=hang", "number of a call"},
      {"clFinish#2x=hang", "number of a call"},
      {"clFinish=", "comes hang, stall"},
      {"clFinish=hangs", "comes hang, stall"},
      {"clFinish=hang:3", "only fail and slow"},
      {"clFinish=fail:5", "below 0"},
      {"clFinish=slow", "needs milliseconds"},
      {"clFinish=slow:0", "above 0"},
      {"clFinish=hang,,clFlush=hang", "rule 2"},
      {"clA=hang,clB=hang,clC=hang,clD=hang,clE=hang", "too many"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fault_rule rules[MOST];
    char why[160];
    assert_int_equal(read_text(cases[i].text, rules, why), -1);
    if (!strstr(why, cases[i].why)) fail_msg("%s: %s", cases[i].text, why);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good),
      cmocka_unit_test(test_every_action),
      cmocka_unit_test(test_mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
