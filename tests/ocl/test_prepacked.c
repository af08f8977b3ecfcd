/* Prepacked operands without OpenCL: memory comes from a source that counts and can refuse. */
#include <stdlib.h>

#include "common/cmocka.h"
#include "ocl/engine/device.h"

enum { UNIT = 4096, BLOCK = 4 * UNIT };

static const cvy_algorithm some_row = {.name = "ocl.some"}, other_row = {.name = "ocl.other"};
static const prepacked_form some_form = {&some_row, {1, 2, 3}};
static cvy_device device;
static int64_t room; /* bytes the source will still give */

static void *give(void *user, int64_t bytes) {
  (void)user;
  if (bytes > room) return NULL;
  int64_t *block = malloc(sizeof *block);
  *block = bytes;
  room -= bytes;
  return block;
}

static void take_back(void *user, void *block) {
  (void)user;
  room += *(int64_t *)block;
  free(block);
}

static int open_device(void **state) {
  (void)state;
  arena_source source = {NULL, give, take_back};
  arena_limits limits = {.alignment = 256, .block_bytes = UNIT, .most_bytes = BLOCK};
  device = (cvy_device){.facts.info.memory_bytes = INT64_C(1) << 30};
  room = BLOCK;
  device.memory.arena = arena_new(&source, &limits);
  return device.memory.arena == NULL;
}

static int close_device(void **state) {
  (void)state;
  prepacked_forget_all(&device);
  arrays_clear(&device.memory.arrays);
  arena_free(device.memory.arena);
  return room != BLOCK;
}

static array_entry *add_array(uint64_t id) {
  array_entry *entry = arrays_add(&device.memory.arrays, id);
  entry->bytes = UNIT;
  return entry;
}

/* Finds the form; returns whether it had to be made. */
static bool is_fresh(uint64_t id, const prepacked_form *form, int64_t bytes) {
  span at = {.at = -1};
  bool fresh = false;
  assert_int_equal(prepacked_find(&device, id, form, bytes, &at, &fresh), CONVOY_OK);
  assert_non_null(at.memory);
  return fresh;
}

static int64_t bytes_in_use(void) {
  return arena_count(device.memory.arena).bytes;
}

static void a_form_is_made_once(void **state) {
  (void)state;
  add_array(7);
  add_array(8);
  assert_true(is_fresh(7, &some_form, UNIT));
  assert_false(is_fresh(7, &some_form, UNIT));
  assert_true(is_fresh(8, &some_form, UNIT));
  assert_false(is_fresh(7, &some_form, UNIT));
  assert_int_equal(bytes_in_use(), 2 * UNIT);
}

static void forms_differ_by_row_and_by_every_number(void **state) {
  (void)state;
  add_array(7);
  prepacked_form form = some_form;
  assert_true(is_fresh(7, &form, 256));
  form.of = &other_row;
  assert_true(is_fresh(7, &form, 256));
  for (int i = 0; i < 8; i++) {
    form.number[i] += 10;
    assert_true(is_fresh(7, &form, 256));
  }
  assert_int_equal(bytes_in_use(), 10 * 256);
}

static void an_array_that_changes_takes_its_forms_along(void **state) {
  (void)state;
  array_entry *first = add_array(7);
  add_array(8);
  is_fresh(7, &some_form, UNIT);
  is_fresh(8, &some_form, UNIT);
  prepacked_forget(&device, first);
  assert_int_equal(bytes_in_use(), UNIT);
  assert_false(is_fresh(8, &some_form, UNIT));
  assert_true(is_fresh(7, &some_form, UNIT));
}

static void the_least_recently_used_make_room_in_the_share(void **state) {
  (void)state;
  device.facts.info.memory_bytes = 8 * 2 * UNIT; /* prepacked operands may have two units */
  for (uint64_t id = 1; id <= 3; id++) add_array(id);
  is_fresh(1, &some_form, UNIT);
  is_fresh(2, &some_form, UNIT);
  is_fresh(1, &some_form, UNIT);
  is_fresh(3, &some_form, UNIT);
  assert_int_equal(bytes_in_use(), 2 * UNIT);
  assert_false(is_fresh(1, &some_form, UNIT));
  assert_true(is_fresh(2, &some_form, UNIT));
}

static void forms_make_room_for_everything_else(void **state) {
  (void)state;
  add_array(7);
  add_array(8);
  is_fresh(7, &some_form, UNIT);
  is_fresh(8, &some_form, UNIT);
  arena_piece *piece = NULL;
  assert_int_equal(memory_take(&device, BLOCK, &piece), CONVOY_OK);
  assert_int_equal(bytes_in_use(), BLOCK);
  span at;
  bool fresh;
  assert_int_equal(prepacked_find(&device, 7, &some_form, UNIT, &at, &fresh), CONVOY_ERR_MEMORY);
  arena_give(device.memory.arena, piece);
  assert_true(is_fresh(7, &some_form, UNIT));
}

static void an_unknown_array_has_no_forms(void **state) {
  (void)state;
  span at;
  bool fresh;
  assert_int_equal(prepacked_find(&device, 99, &some_form, UNIT, &at, &fresh), CONVOY_ERR_ARGUMENT);
  assert_int_equal(bytes_in_use(), 0);
}

#define each(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

int main(void) {
  const struct CMUnitTest tests[] = {
      each(a_form_is_made_once),
      each(forms_differ_by_row_and_by_every_number),
      each(an_array_that_changes_takes_its_forms_along),
      each(the_least_recently_used_make_room_in_the_share),
      each(forms_make_room_for_everything_else),
      each(an_unknown_array_has_no_forms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
