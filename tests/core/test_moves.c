/* Moves on a device that lies, fails, forgets and has too little memory: they take the way of every
 * other operation, and every way gives the same bits. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "core/fake.h"
#include "core/open.h"

/* Behind the library's own headers, whose parameters have the name of a type of the tool. */
#include "common/operation.h"

static const char *const texts[] = {
    "copy x800 by200,20,1 y4,12,25 take4,10,20 at0,1,2 fill-1.5", /* images of x */
    "copy x240 by0,1,12 y8,12,20",                                /* one for all images */
    "copy x720:int32 by180,1,9 y4,9,20",
    "concatenate n8 w30,17,33:uint8",
    "resample_nearest n4c3h5w7 h9w11",
    "resample_nearest_backward n4c3h5w8 h10w16",
    "resample_linear n4c3h5w7 h9w11 aligned",
    "resample_linear_backward n4c3h5w7 h9w11",
};

typedef struct one_case {
  operation what;
  convoy_context *context;
  convoy_tensor *tensor[CONVOY_MAX_OPERANDS];
  float *wanted;
  int64_t results;
} one_case;

static int reset(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  fake_reset();
  return 0;
}

static void begin(convoy_context *context, one_case *c) {
  c->context = context;
  assert_int_equal(operation_tensors(context, &c->what, c->tensor), CONVOY_OK);
}

static void finish(one_case *c) {
  operation_drop(&c->what, c->tensor);
  convoy_close(c->context);
}

static void carry_out(one_case *c, convoy_run *run) {
  if (operation_apply(c->context, &c->what, c->tensor, run)) fail_msg("%s", convoy_last_error());
}

/* Reads a text, and has the CPU engine make what is wanted. */
static void open_case(const char *text, one_case *c) {
  if (operation_read(text, &c->what)) fail_msg("%s: %s", text, convoy_last_error());
  assert_int_equal(c->what.results, 1);
  assert_true(operation_fill(&c->what, fill_real, 0.0f));
  convoy_context *cpu = open_named("cpu", CONVOY_NO);
  assert_int_equal(operation_expect(&c->what, cpu), CONVOY_OK);
  convoy_close(cpu);
  c->wanted = c->what.wanted[c->what.inputs];
  c->results = c->what.count[c->what.inputs];
}

static void close_case(one_case *c) {
  operation_free(&c->what);
}

static void check(one_case *c) {
  assert_int_equal(operation_fetch(&c->what, c->tensor), CONVOY_OK);
  check_values(c->what.host[c->what.inputs], c->wanted, c->results);
}

/* The first of a class is proven whole: one wrong element of any is found. */
static void lies_are_found_at_first_use(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    one_case c;
    open_case(texts[t], &c);
    for (int64_t element = 0; element < c.results; element += c.results / 7) {
      fake_reset();
      fake.lie = FAKE_WRONG;
      fake.lie_element = element;
      begin(open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON), &c);
      carry_out(&c, NULL);
      check(&c);
      if (health_of(c.context).wrong_results != 1)
        fail_msg("%s: element %d", texts[t], (int)element);
      finish(&c);
    }
    close_case(&c);
  }
}

/* Later a few elements of each result are looked at. */
static void lies_of_a_proven_class_are_found(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    one_case c;
    open_case(texts[t], &c);
    fake_reset();
    begin(open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON), &c);
    for (int i = 0; i < 2; i++) carry_out(&c, NULL);
    check(&c);
    assert_int_equal(health_of(c.context).faults, 0);
    fake.lie = FAKE_WRONG;
    fake.lie_one_of = 2;
    for (int rounds = 0; health_of(c.context).wrong_results == 0 && rounds < 2000; rounds++) {
      carry_out(&c, NULL);
      assert_int_equal(operation_fetch(&c.what, c.tensor), CONVOY_OK);
    }
    assert_int_equal(health_of(c.context).wrong_results, 1);
    check(&c);
    finish(&c);
    close_case(&c);
  }
}

static void lost_results_are_computed_anew(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    one_case c;
    open_case(texts[t], &c);
    for (int64_t fail_at = 1; fail_at <= 12; fail_at++) {
      for (int how = 0; how < 4; how++) {
        fake_reset();
        begin(open_named("fake", CONVOY_ON), &c);
        fake.fail_at = fail_at;
        fake.empties = how & 1;
        fake.dies = how & 2;
        carry_out(&c, NULL);
        check(&c);
        finish(&c);
      }
    }
    close_case(&c);
  }
}

static char told[256];

static void keep_downgrade(void *user, const convoy_event *event) {
  (void)user;
  if (event->kind == CONVOY_EVENT_DOWNGRADE) strcpy(told, event->message);
}

static void too_little_memory_takes_pieces(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    one_case c;
    convoy_run run = CONVOY_RUN_INIT;
    open_case(texts[t], &c);
    fake_reset();
    fake.capacity = (int64_t)operation_bytes(&c.what) * 2 / 3;
    told[0] = '\0';
    begin(open_named("fake", CONVOY_ON), &c);
    convoy_set_event_callback(c.context, keep_downgrade, NULL);
    carry_out(&c, &run);
    check(&c);
    if (strcmp(run.device, "fake:1") != 0)
      fail_msg("%s: on %s: %s", texts[t], run.device, run.fault);
    assert_non_null(strstr(told, "pieces"));
    finish(&c);
    close_case(&c);
  }
}

/* Where images are not apart there are no pieces, and the CPU takes over. */
static void what_has_no_images_is_not_cut(void **state) {
  one_case c;
  convoy_run run = CONVOY_RUN_INIT;
  (void)state;
  open_case("copy x800 by1,20 y20,40", &c);
  fake_reset();
  fake.capacity = (int64_t)operation_bytes(&c.what) * 2 / 3;
  begin(open_named("fake", CONVOY_ON), &c);
  carry_out(&c, &run);
  check(&c);
  assert_string_equal(run.device, "cpu");
  finish(&c);
  close_case(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(lies_are_found_at_first_use, reset),
      cmocka_unit_test_setup(lies_of_a_proven_class_are_found, reset),
      cmocka_unit_test_setup(lost_results_are_computed_anew, reset),
      cmocka_unit_test_setup(too_little_memory_takes_pieces, reset),
      cmocka_unit_test_setup(what_has_no_images_is_not_cut, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
