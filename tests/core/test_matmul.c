/* Matrix products on a device that lies, fails, forgets and has too little memory: they take the
 * way of every other operation. Whole numbers: every way gives the same bits. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "core/fake.h"
#include "core/open.h"

/* A linear layer's three products, a batch with a side for all, and sums of products. */
static const char *const texts[] = {
    "matmul a24x30 b20x30t",      "matmul a24x30 b30x20",          "matmul a24x30t b24x20",
    "matmul a6x5x30 b6x30x20",    "matmul a5x30 b6x30x20",         "matmul a6x30x5t b30x20",
    "matmul a6x5x30 b6x30x7 sum", "matmul a6x30x20t b6x30x14 sum", "matmul a30x9t b12x30t",
};

enum { A, B, Y, ROLES };
typedef struct product {
  uint32_t flags;
  int32_t dims[ROLES];
  int64_t shapes[ROLES][CONVOY_MAX_DIMS], count[ROLES];
  float value[ROLES][6 * 30 * 30], wanted[6 * 30 * 30];
  convoy_tensor *tensor[ROLES];
  convoy_context *context;
} product;

static int reset(void **state) {
  (void)state;
  setenv("CONVOY_FAULT_LIMIT", "0", 1);
  fake_reset();
  return 0;
}

static void begin(convoy_context *context, const char *text, product *p) {
  test_random random = {7};
  p->context = context;
  assert_int_equal(convoy_parse_matmul(text, &p->flags, p->dims, p->shapes), CONVOY_OK);
  for (int i = A; i < ROLES; i++) {
    p->count[i] = 1;
    for (int axis = 0; axis < p->dims[i]; axis++) p->count[i] *= p->shapes[i][axis];
    assert_int_equal(convoy_tensor_new(context, p->dims[i], p->shapes[i], &p->tensor[i]),
                     CONVOY_OK);
    if (i == Y) continue;
    test_fill_integers(&random, p->value[i], p->count[i]);
    assert_int_equal(convoy_tensor_write(p->tensor[i], p->value[i], p->count[i]), CONVOY_OK);
  }
}

static void end(product *p) {
  for (int i = A; i < ROLES; i++) convoy_tensor_free(p->tensor[i]);
}

static void multiply(product *p, convoy_run *run) {
  if (convoy_matmul(p->context, p->flags, p->tensor[A], p->tensor[B], p->tensor[Y], run))
    fail_msg("%s", convoy_last_error());
}

static void find_wanted(const char *text, product *p) {
  convoy_context *cpu = open_named("cpu", CONVOY_NO);
  begin(cpu, text, p);
  multiply(p, NULL);
  assert_int_equal(convoy_tensor_read(p->tensor[Y], p->wanted, p->count[Y]), CONVOY_OK);
  end(p);
  convoy_close(cpu);
}

static void check(product *p) {
  assert_int_equal(convoy_tensor_read(p->tensor[Y], p->value[Y], p->count[Y]), CONVOY_OK);
  check_values(p->value[Y], p->wanted, p->count[Y]);
}

/* The first of a class is proven whole: one wrong element of any is found. */
static void lies_are_found_at_first_use(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static product p;
    find_wanted(texts[t], &p);
    for (int64_t element = 0; element < p.count[Y]; element += p.count[Y] / 7) {
      fake_reset();
      fake.lie = FAKE_WRONG;
      fake.lie_element = element;
      convoy_context *context = open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON);
      begin(context, texts[t], &p);
      multiply(&p, NULL);
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
    static product p;
    find_wanted(texts[t], &p);
    fake_reset();
    convoy_context *context = open_verified("fake", CONVOY_VERIFY_SAMPLE, CONVOY_ON);
    begin(context, texts[t], &p);
    for (int i = 0; i < 2; i++) multiply(&p, NULL);
    check(&p);
    assert_int_equal(health_of(context).faults, 0);
    fake.lie = FAKE_WRONG;
    fake.lie_one_of = 2;
    for (int rounds = 0; health_of(context).wrong_results == 0 && rounds < 2000; rounds++) {
      multiply(&p, NULL);
      assert_int_equal(convoy_tensor_read(p.tensor[Y], p.value[Y], p.count[Y]), CONVOY_OK);
    }
    assert_int_equal(health_of(context).wrong_results, 1);
    check(&p);
    end(&p);
    convoy_close(context);
  }
}

/* An honest device that rounds otherwise is never blamed. */
static void rounding_is_no_lie(void **state) {
  static product p;
  (void)state;
  convoy_context *context = open_verified("fake", CONVOY_VERIFY_ALL, CONVOY_ON);
  fake.lie = FAKE_ROUNDED;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    begin(context, texts[t], &p);
    multiply(&p, NULL);
    assert_int_equal(convoy_sync(context), CONVOY_OK);
    end(&p);
  }
  assert_int_equal(health_of(context).faults, 0);
  convoy_close(context);
}

static void lost_results_are_computed_anew(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static product p;
    find_wanted(texts[t], &p);
    for (int64_t fail_at = 1; fail_at <= 12; fail_at++) {
      for (int how = 0; how < 4; how++) {
        fake_reset();
        convoy_context *context = open_named("fake", CONVOY_ON);
        begin(context, texts[t], &p);
        fake.fail_at = fail_at;
        fake.empties = how & 1;
        fake.dies = how & 2;
        multiply(&p, NULL);
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

/* Half of the operands' and the result's bytes, but all of those that every image needs. */
static int64_t capacity_for(const product *p, int64_t shared) {
  int64_t all = p->count[A] + p->count[B] + p->count[Y];
  return (shared + (all - shared) * 2 / 3) * (int64_t)sizeof(float);
}

/* Rows, terms and products are images; only a product of two transposed sides is none but one. */
static void too_little_memory_takes_pieces(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++) {
    static product p;
    convoy_run run = CONVOY_RUN_INIT;
    find_wanted(texts[t], &p);
    bool whole = t == CVY_COUNT(texts) - 1, sums = (p.flags & 1) && t != 5 && !whole;
    sums = sums || (p.flags & CONVOY_MATMUL_SUM);
    int64_t shared = sums ? 2 * p.count[Y] : p.dims[B] == 2 ? p.count[B] : 0;
    if (p.dims[A] == 2 && p.dims[B] == 3) shared = p.count[A];
    fake_reset();
    fake.capacity = capacity_for(&p, shared);
    told[0] = '\0';
    convoy_context *context = open_named("fake", CONVOY_ON);
    convoy_set_event_callback(context, keep_downgrade, NULL);
    begin(context, texts[t], &p);
    multiply(&p, &run);
    check(&p);
    if (strcmp(run.device, whole ? "cpu" : "fake:1") != 0)
      fail_msg("%s: on %s: %s", texts[t], run.device, run.fault);
    if (!whole) assert_non_null(strstr(told, "pieces"));
    end(&p);
    convoy_close(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(lies_are_found_at_first_use, reset),
      cmocka_unit_test_setup(lies_of_a_proven_class_are_found, reset),
      cmocka_unit_test_setup(rounding_is_no_lie, reset),
      cmocka_unit_test_setup(lost_results_are_computed_anew, reset),
      cmocka_unit_test_setup(too_little_memory_takes_pieces, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
