/* Pooling on a device that lies, fails, forgets and has too little memory: it takes the way of
 * every other operation. Whole numbers and divisors that are powers of two: every way gives the
 * same bits. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "core/fake.h"
#include "core/open.h"

static const char *const texts[] = {
    "max_pool n4c3h9w11 r3s3 stride2 pad1",
    "max_pool_backward n4c3h9w11 r3s3 stride2 pad1",
    "max_pool_backward n4c3w40 s3 pad2 dil2 ceil",
    "average_pool n4c3h8w12 r2s2 stride2",
    "average_pool n4c3h9w11 r2s4 pad1 count_padding",
    "average_pool_backward n4c3h9w11 r2s2 pad1",
};

enum { MOST_OPERANDS = 3, FLOATS = 4 * 3 * 16 * 16 };
typedef struct pooling {
  convoy_pool what;
  convoy_window window;
  int inputs;
  int64_t x[CONVOY_MAX_DIMS], y[CONVOY_MAX_DIMS], count[MOST_OPERANDS];
  float value[MOST_OPERANDS][FLOATS], wanted[FLOATS];
  convoy_tensor *tensor[MOST_OPERANDS];
  convoy_context *context;
} pooling;

static int reset(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  fake_reset();
  return 0;
}

static void begin(convoy_context *context, const char *text, pooling *p) {
  test_random random = {7};
  const int64_t *const of[CONVOY_POOLS][MOST_OPERANDS] = {
      {p->x, p->y}, {p->x, p->y, p->x}, {p->x, p->y}, {p->y, p->x}};
  p->context = context;
  assert_int_equal(convoy_parse_pool(text, &p->what, &p->window, p->x, p->y), CONVOY_OK);
  p->inputs = p->what == CONVOY_MAX_POOL_BACKWARD ? 2 : 1;
  for (int i = 0; i <= p->inputs; i++) {
    const int64_t *shape = of[p->what][i];
    p->count[i] = 1;
    for (int axis = 0; axis < p->window.rank + 2; axis++) p->count[i] *= shape[axis];
    assert_in_range(p->count[i], 1, FLOATS);
    assert_int_equal(convoy_tensor_new(context, p->window.rank + 2, shape, &p->tensor[i]),
                     CONVOY_OK);
    if (i == p->inputs) continue;
    test_fill_integers(&random, p->value[i], p->count[i]);
    assert_int_equal(convoy_tensor_write(p->tensor[i], p->value[i], p->count[i]), CONVOY_OK);
  }
}

static void end(pooling *p) {
  for (int i = 0; i <= p->inputs; i++) convoy_tensor_free(p->tensor[i]);
}

static convoy_status call(pooling *p, convoy_run *run) {
  convoy_tensor **t = p->tensor;
  switch (p->what) {
    case CONVOY_MAX_POOL:
      return convoy_max_pool(p->context, &p->window, t[0], t[1], run);
    case CONVOY_MAX_POOL_BACKWARD:
      return convoy_max_pool_backward(p->context, &p->window, t[0], t[1], t[2], run);
    case CONVOY_AVERAGE_POOL:
      return convoy_average_pool(p->context, &p->window, t[0], t[1], run);
    case CONVOY_AVERAGE_POOL_BACKWARD:
      break;
  }
  return convoy_average_pool_backward(p->context, &p->window, t[0], t[1], run);
}

static void carry_out(pooling *p, convoy_run *run) {
  if (call(p, run)) fail_msg("%s", convoy_last_error());
}

static void find_wanted(const char *text, pooling *p) {
  convoy_context *cpu = open_named("cpu", CONVOY_NO);
  begin(cpu, text, p);
  carry_out(p, NULL);
  assert_int_equal(convoy_tensor_read(p->tensor[p->inputs], p->wanted, p->count[p->inputs]),
                   CONVOY_OK);
  end(p);
  convoy_close(cpu);
}

static void check(pooling *p) {
  float *got = p->value[MOST_OPERANDS - 1];
  int out = p->inputs;
  assert_int_equal(convoy_tensor_read(p->tensor[out], got, p->count[out]), CONVOY_OK);
  check_values(got, p->wanted, p->count[out]);
}

/* The first of a class is proven whole: one wrong element of any is found. */
static void lies_are_found_at_first_use(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static pooling p;
    find_wanted(texts[t], &p);
    for (int64_t element = 0; element < p.count[p.inputs]; element += p.count[p.inputs] / 7) {
      fake_reset();
      fake.lie = FAKE_WRONG;
      fake.lie_element = element;
      convoy_context *context = open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON);
      begin(context, texts[t], &p);
      carry_out(&p, NULL);
      check(&p);
      assert_int_equal(health_of(context).wrong_results, 1);
      end(&p);
      convoy_close(context);
    }
  }
}

/* Later a few elements of each result are looked at. */
static void lies_of_a_proven_class_are_found(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static pooling p;
    find_wanted(texts[t], &p);
    fake_reset();
    convoy_context *context = open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON);
    begin(context, texts[t], &p);
    for (int i = 0; i < 2; i++) carry_out(&p, NULL);
    check(&p);
    assert_int_equal(health_of(context).faults, 0);
    fake.lie = FAKE_WRONG;
    fake.lie_one_of = 2;
    for (int rounds = 0; health_of(context).wrong_results == 0 && rounds < 2000; rounds++) {
      carry_out(&p, NULL);
      assert_int_equal(
          convoy_tensor_read(p.tensor[p.inputs], p.value[MOST_OPERANDS - 1], p.count[p.inputs]),
          CONVOY_OK);
    }
    assert_int_equal(health_of(context).wrong_results, 1);
    check(&p);
    end(&p);
    convoy_close(context);
  }
}

static void lost_results_are_computed_anew(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static pooling p;
    find_wanted(texts[t], &p);
    for (int64_t fail_at = 1; fail_at <= 12; fail_at++) {
      for (int how = 0; how < 4; how++) {
        fake_reset();
        convoy_context *context = open_named("fake", CONVOY_ON);
        begin(context, texts[t], &p);
        fake.fail_at = fail_at;
        fake.empties = how & 1;
        fake.dies = how & 2;
        carry_out(&p, NULL);
        check(&p);
        end(&p);
        convoy_close(context);
      }
    }
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
    static pooling p;
    convoy_run run = CONVOY_RUN_INIT;
    int64_t floats = 0;
    find_wanted(texts[t], &p);
    for (int i = 0; i <= p.inputs; i++) floats += p.count[i];
    fake_reset();
    fake.capacity = floats * 2 / 3 * (int64_t)sizeof(float);
    told[0] = '\0';
    convoy_context *context = open_named("fake", CONVOY_ON);
    convoy_set_event_callback(context, keep_downgrade, NULL);
    begin(context, texts[t], &p);
    carry_out(&p, &run);
    check(&p);
    if (strcmp(run.device, "fake:1") != 0)
      fail_msg("%s: on %s: %s", texts[t], run.device, run.fault);
    assert_non_null(strstr(told, "pieces"));
    end(&p);
    convoy_close(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(lies_are_found_at_first_use, reset),
      cmocka_unit_test_setup(lies_of_a_proven_class_are_found, reset),
      cmocka_unit_test_setup(lost_results_are_computed_anew, reset),
      cmocka_unit_test_setup(too_little_memory_takes_pieces, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
