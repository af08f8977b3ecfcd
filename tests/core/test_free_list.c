/* Memory of stores is used again: what is kept is bounded, and steps after the first allocate
 * nothing. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "core/exec/free_list.h"
#include "core/fake.h"
#include "core/open.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* The linker sends the library's aligned allocations here (--wrap). */
static int64_t allocations;
static bool exhausted;

int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);

int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes) {
  allocations++;
  return exhausted ? 12 : __real_posix_memalign(out, alignment, bytes);
}

/* Takes and fills, so that a sanitizer sees a chunk that is too small. */
static void *take(cvy_free_list *list, int64_t bytes) {
  void *memory = cvy_free_list_take(list, bytes);
  assert_non_null(memory);
  memset(memory, 0x5a, (size_t)bytes);
  return memory;
}

/* --------------------------------------------------------------------------- the list */

static void test_taken_again(void **state) {
  (void)state;
  cvy_free_list list = {0};
  void *a = take(&list, MIB), *b = take(&list, 2 * MIB);
  cvy_free_list_give(&list, a, MIB);
  cvy_free_list_give(&list, b, 2 * MIB);
  assert_int_equal(list.live, 0);
  assert_int_equal(list.kept, 3 * MIB);
  allocations = 0;
  assert_ptr_equal(take(&list, MIB - 4), a); /* nearly the same size */
  assert_ptr_equal(take(&list, 2 * MIB), b);
  assert_int_equal(allocations, 0);
  assert_int_equal(list.kept, 0);
  assert_int_equal(list.live, 3 * MIB);
  cvy_free_list_give(&list, a, MIB - 4);
  cvy_free_list_give(&list, b, 2 * MIB);
  cvy_free_list_end(&list);
  assert_int_equal(list.kept, 0);
}

/* What was in use at once was less than what there is of either size. */
static void test_several_sizes(void **state) {
  (void)state;
  cvy_free_list list = {0};
  for (int step = 0; step < 3; step++) {
    if (step == 1) allocations = 0;
    void *chunks[] = {take(&list, MIB), take(&list, MIB), take(&list, MIB)};
    for (size_t i = 0; i < CVY_COUNT(chunks); i++) cvy_free_list_give(&list, chunks[i], MIB);
    void *larger = take(&list, 3 * MIB);
    cvy_free_list_give(&list, larger, 3 * MIB);
  }
  assert_int_equal(allocations, 0);
  cvy_free_list_end(&list);
}

static void test_alignment_and_waste(void **state) {
  (void)state;
  const int64_t sizes[] = {0,         1,       63 * KIB,    64 * KIB, 64 * KIB + 4,
                           500 * KIB, MIB / 2, MIB / 2 + 4, MIB + 4,  10 * MIB + 12};
  for (size_t i = 0; i < CVY_COUNT(sizes); i++) {
    cvy_free_list list = {0};
    void *memory = take(&list, sizes[i]);
    assert_int_equal((uintptr_t)memory % (sizes[i] < 64 * KIB ? 64 : 4096), 0);
    assert_true(list.live >= sizes[i]);
    assert_true(list.live - sizes[i] <= 1 + sizes[i] / 8);
    cvy_free_list_give(&list, memory, sizes[i]);
    cvy_free_list_end(&list);
  }
}

/* Whatever comes, all chunks are at most twice what was in use at once. */
static void test_bounded(void **state) {
  (void)state;
  enum { BLOCKS = 20 };
  cvy_free_list list = {0};
  test_random random = {3};
  void *chunks[BLOCKS] = {NULL};
  int64_t bytes[BLOCKS], most = 0;
  for (int i = 0; i < 5000; i++) {
    int at = (int)test_between(&random, 0, BLOCKS - 1);
    if (chunks[at]) {
      cvy_free_list_give(&list, chunks[at], bytes[at]);
      chunks[at] = NULL;
    } else {
      bytes[at] = test_between(&random, 0, 6) * 40 * KIB;
      chunks[at] = cvy_free_list_take(&list, bytes[at]);
    }
    if (list.live > most) most = list.live;
    assert_true(list.kept >= 0 && list.kept + list.live <= 2 * most);
  }
  for (int i = 0; i < BLOCKS; i++) cvy_free_list_give(&list, chunks[i], bytes[i]);
  assert_int_equal(list.live, 0);
  assert_true(list.kept > 0);
  cvy_free_list_end(&list);
  assert_int_equal(list.kept, 0);
}

static void test_unused_for_long(void **state) {
  (void)state;
  cvy_free_list list = {0};
  void *busy = take(&list, MIB), *idle = take(&list, 2 * MIB);
  cvy_free_list_give(&list, idle, 2 * MIB);
  for (int i = 0; i < 20000; i++) {
    cvy_free_list_give(&list, busy, MIB);
    busy = cvy_free_list_take(&list, MIB);
    if (i == 5000) assert_int_equal(list.kept, 2 * MIB);
  }
  assert_int_equal(list.kept, 0);
  cvy_free_list_give(&list, busy, MIB);
  cvy_free_list_end(&list);
}

static void test_no_memory(void **state) {
  (void)state;
  cvy_free_list list = {0};
  void *chunk = take(&list, MIB);
  cvy_free_list_give(&list, chunk, MIB);
  exhausted = true;
  assert_null(cvy_free_list_take(&list, 2 * MIB));
  exhausted = false;
  assert_int_equal(list.kept, 0); /* the chunks were given up to make room */
  assert_null(cvy_free_list_take(&list, INT64_MAX));
  assert_int_equal(list.live, 0);
  assert_int_equal(list.most, MIB); /* what could not be had does not raise the bound */
  cvy_free_list_end(&list);
}

static void test_given_back_after_the_end(void **state) {
  (void)state;
  cvy_free_list list = {0};
  void *chunk = take(&list, MIB);
  cvy_free_list_end(&list);
  cvy_free_list_give(&list, chunk, MIB);
  cvy_free_list_give(&list, NULL, MIB);
  assert_int_equal(list.live, 0);
  assert_int_equal(list.kept, 0);
}

/* ------------------------------------------------------------------------------- contexts */

enum { X = 40000, Y = X - 1 };
static const int64_t x_shape[] = {1, 1, X}, w_shape[] = {1, 1, 2}, y_shape[] = {1, 1, Y};
static const float w[] = {1, 10};
static const convoy_conv conv = CONVOY_CONV_INIT(1);
static float x[X], y[Y], dx[X];

static convoy_tensor *born(convoy_context *context, const int64_t *shape) {
  convoy_tensor *tensor = NULL;
  assert_int_equal(convoy_tensor_new(context, 3, shape, &tensor), CONVOY_OK);
  return tensor;
}

/* As Python does it: every array of the step is a new tensor. */
static void step(convoy_context *context, float first) {
  convoy_tensor *tw = tensor_of(context, w_shape, w), *tx = born(context, x_shape);
  convoy_tensor *ty = born(context, y_shape), *tdx = born(context, x_shape);
  x[0] = first;
  assert_int_equal(convoy_tensor_write(tx, x, X), CONVOY_OK);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  assert_int_equal(convoy_backward_data(context, &conv, ty, tw, 1, tdx, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(ty, y, Y), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(tdx, dx, X), CONVOY_OK);
  assert_true(y[0] == first && y[1] == 0 && dx[0] == first && dx[1] == 10 * first && dx[2] == 0);
  convoy_tensor *const all[] = {tw, tx, ty, tdx};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
}

static void steps_allocate_nothing(const char *device) {
  convoy_context *context = open_named(device, CONVOY_NO);
  step(context, 1);
  step(context, 2);
  int64_t before = health_of(context).host_bytes;
  allocations = 0;
  for (int i = 0; i < 100; i++) step(context, (float)i);
  assert_int_equal(health_of(context).host_bytes, before);
  assert_true(before <= (int64_t)sizeof(float) * 7 * X); /* x, y, dx, as much kept, and an eighth */
  /* Each step makes one chunk too small to be kept: w. */
  assert_int_equal(allocations, 100);
  convoy_close(context);
}

static void test_steps_allocate_nothing(void **state) {
  (void)state;
  fake_reset();
  steps_allocate_nothing("cpu");
  steps_allocate_nothing("fake");
}

/* An output that nobody else sees is written in place, but not before it is sure to be finished. */
static void test_output_in_place(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_named("cpu", CONVOY_NO);
  convoy_tensor *tw = tensor_of(context, w_shape, w), *tx = born(context, x_shape);
  convoy_tensor *ty = born(context, y_shape);
  assert_int_equal(convoy_set_algorithm(context, "cpu.direct"), CONVOY_OK);
  x[0] = 3;
  assert_int_equal(convoy_tensor_write(tx, x, X), CONVOY_OK);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  allocations = 0;
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  assert_int_equal(allocations, 0);

  assert_int_equal(convoy_set_algorithm(context, "cpu.depthwise"), CONVOY_OK); /* has scratch */
  x[0] = 4;
  assert_int_equal(convoy_tensor_write(tx, x, X), CONVOY_OK);
  exhausted = true;
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_ERR_MEMORY);
  exhausted = false;
  assert_int_equal(convoy_tensor_read(ty, y, Y), CONVOY_OK);
  assert_true(y[0] == 3);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(ty, y, Y), CONVOY_OK);
  assert_true(y[0] == 4);
  convoy_tensor *const all[] = {tw, tx, ty};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

/* Not in place: the operation itself reads what it would overwrite. */
static void test_output_that_is_read(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_named("cpu", CONVOY_NO);
  convoy_conv same = CONVOY_CONV_INIT(1);
  same.pad_begin[0] = 1; /* each element becomes the one before it */
  convoy_tensor *tw = tensor_of(context, w_shape, (const float[]){1, 0});
  convoy_tensor *tx = born(context, x_shape);
  for (int i = 0; i < X; i++) x[i] = (float)i;
  assert_int_equal(convoy_tensor_write(tx, x, X), CONVOY_OK);
  assert_int_equal(convoy_set_algorithm(context, "cpu.direct"), CONVOY_OK);
  assert_int_equal(convoy_forward(context, &same, tx, tw, NULL, NULL, tx, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(tx, dx, X), CONVOY_OK);
  for (int i = 1; i < X; i++) assert_true(dx[i] == (float)(i - 1));
  memset(x, 0, sizeof(x));
  convoy_tensor_free(tw);
  convoy_tensor_free(tx);
  convoy_close(context);
}

/* Nor where values that a device has lost must still be computed from the old ones. */
static void test_output_that_is_needed(void **state) {
  (void)state;
  fake_reset();
  convoy_context *context = open_named("fake", CONVOY_ON);
  convoy_tensor *tw = tensor_of(context, w_shape, w), *tx = born(context, x_shape);
  convoy_tensor *ty = born(context, y_shape), *tdy = born(context, y_shape);
  x[0] = 5;
  assert_int_equal(convoy_tensor_write(tx, x, X), CONVOY_OK);
  assert_int_equal(convoy_forward(context, &conv, tx, tw, NULL, NULL, ty, NULL), CONVOY_OK);
  fake.fail_at = 1;
  fake.dies = true;
  assert_int_equal(convoy_sync(context), CONVOY_OK);
  assert_int_equal(convoy_backward_data(context, &conv, tdy, tw, 0, tx, NULL), CONVOY_OK);
  assert_int_equal(convoy_tensor_read(ty, y, Y), CONVOY_OK);
  assert_true(y[0] == 5);
  assert_int_equal(convoy_tensor_read(tx, dx, X), CONVOY_OK);
  assert_true(dx[0] == 0);
  convoy_tensor *const all[] = {tw, tx, ty, tdy};
  for (size_t i = 0; i < CVY_COUNT(all); i++) convoy_tensor_free(all[i]);
  convoy_close(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_taken_again),
      cmocka_unit_test(test_several_sizes),
      cmocka_unit_test(test_alignment_and_waste),
      cmocka_unit_test(test_bounded),
      cmocka_unit_test(test_unused_for_long),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_given_back_after_the_end),
      cmocka_unit_test(test_steps_allocate_nothing),
      cmocka_unit_test(test_output_in_place),
      cmocka_unit_test(test_output_that_is_read),
      cmocka_unit_test(test_output_that_is_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
