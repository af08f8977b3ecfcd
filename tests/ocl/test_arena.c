/* The arena without OpenCL: blocks come from a source that counts and can refuse. */
#include "ocl/engine/arena.h"

#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"

typedef struct fake_source {
  int64_t room; /* bytes it will still give */
  int made, dropped;
} fake_source;

typedef struct fake_block {
  int64_t bytes;
} fake_block;

static void *make(void *user, int64_t bytes) {
  fake_source *source = user;
  if (bytes > source->room) return NULL;
  fake_block *block = malloc(sizeof *block);
  block->bytes = bytes;
  source->room -= bytes;
  source->made++;
  return block;
}

static void drop(void *user, void *memory) {
  fake_source *source = user;
  source->room += ((fake_block *)memory)->bytes;
  source->dropped++;
  free(memory);
}

static cvy_arena *new_arena(fake_source *source, int64_t keep) {
  arena_source calls = {source, make, drop};
  arena_limits limits = {
      .alignment = 256, .block_bytes = 4096, .most_bytes = 16384, .keep_bytes = keep};
  return arena_new(&calls, &limits);
}

static arena_piece *take(cvy_arena *arena, int64_t bytes) {
  arena_piece *piece = NULL;
  assert_int_equal(arena_take(arena, bytes, &piece), CONVOY_OK);
  assert_int_equal(piece->at % 256, 0);
  assert_true(piece->bytes >= bytes);
  return piece;
}

static void small_pieces_share_a_block(void **state) {
  (void)state;
  fake_source source = {.room = 1 << 20};
  cvy_arena *arena = new_arena(&source, 0);
  arena_piece *pieces[16];
  for (int i = 0; i < 16; i++) pieces[i] = take(arena, 200);
  assert_int_equal(source.made, 1);
  assert_int_equal(arena_count(arena).bytes, 4096);
  for (int i = 1; i < 16; i++) assert_true(pieces[i]->at != pieces[i - 1]->at);
  take(arena, 1);
  assert_int_equal(source.made, 2);
  assert_int_equal(arena_count(arena).held, 8192);
  arena_free(arena);
  assert_int_equal(source.dropped, 2);
}

/* In whatever order its pieces are freed, a block is one piece again. */
static void freed_neighbours_become_one(void **state) {
  (void)state;
  static const int orders[4][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
  for (int o = 0; o < 4; o++) {
    fake_source source = {.room = 4096};
    cvy_arena *arena = new_arena(&source, 4096);
    arena_piece *pieces[4];
    for (int i = 0; i < 4; i++) pieces[i] = take(arena, 1024);
    for (int i = 0; i < 4; i++) arena_give(arena, pieces[orders[o][i]]);
    arena_give(arena, take(arena, 4096));
    assert_int_equal(source.made, 1);
    assert_int_equal(arena_count(arena).bytes, 0);
    assert_int_equal(arena_count(arena).peak, 4096);
    arena_free(arena);
  }
}

static void the_same_steps_make_no_new_blocks(void **state) {
  (void)state;
  fake_source source = {.room = 1 << 20};
  cvy_arena *arena = new_arena(&source, 1 << 20);
  int after_first = 0;
  for (int step = 0; step < 50; step++) {
    arena_piece *a = take(arena, 3000), *b = take(arena, 5000), *c = take(arena, 700);
    arena_give(arena, b);
    arena_piece *d = take(arena, 2000);
    arena_give(arena, a);
    arena_give(arena, d);
    arena_give(arena, c);
    if (step == 0) after_first = source.made;
  }
  assert_int_equal(source.made, after_first);
  assert_int_equal(arena_count(arena).bytes, 0);
  arena_free(arena);
}

static void idle_blocks_beyond_the_limit_go_back(void **state) {
  (void)state;
  fake_source source = {.room = 1 << 20};
  cvy_arena *arena = new_arena(&source, 8192);
  arena_piece *pieces[5];
  for (int i = 0; i < 5; i++) pieces[i] = take(arena, 4096);
  for (int i = 0; i < 5; i++) arena_give(arena, pieces[i]);
  assert_int_equal(source.dropped, 3);
  assert_int_equal(arena_count(arena).held, 8192);
  arena_free(arena);
}

/* Idle blocks too small for a request make room for one that fits it. */
static void a_full_device_gives_back_idle_blocks_first(void **state) {
  (void)state;
  fake_source source = {.room = 8192};
  cvy_arena *arena = new_arena(&source, 1 << 20);
  arena_piece *a = take(arena, 4096), *b = take(arena, 4096);
  arena_give(arena, a);
  arena_give(arena, b);
  arena_give(arena, take(arena, 8192));
  assert_int_equal(source.dropped, 2);
  arena_free(arena);
}

/* What is left of the device is less than a block but enough for the piece. */
static void a_nearly_full_device_gives_a_small_block(void **state) {
  (void)state;
  fake_source source = {.room = 4096 + 512};
  cvy_arena *arena = new_arena(&source, 0);
  take(arena, 4096);
  take(arena, 300);
  assert_int_equal(arena_count(arena).held, 4096 + 512);
  arena_free(arena);
}

/* Whatever the device has. */
static void a_limit_is_kept(void **state) {
  (void)state;
  fake_source source = {.room = 1 << 20};
  arena_source calls = {&source, make, drop};
  arena_limits limits = {
      .alignment = 256, .block_bytes = 4096, .most_bytes = 16384, .all_bytes = 10000};
  cvy_arena *arena = arena_new(&calls, &limits);
  arena_piece *large = take(arena, 8192), *small, *none;
  small = take(arena, 1024);
  assert_int_equal(arena_take(arena, 1024, &none), CONVOY_ERR_MEMORY);
  assert_true(arena_count(arena).held <= 10000);
  arena_give(arena, large);
  arena_give(arena, small);
  take(arena, 9000);
  assert_true(arena_count(arena).held <= 10000);
  arena_free(arena);
  assert_int_equal(source.made, source.dropped);
}

static void exhaustion_is_said_with_numbers(void **state) {
  (void)state;
  fake_source source = {.room = 8192};
  cvy_arena *arena = new_arena(&source, 0);
  arena_piece *kept = take(arena, 4000), *none = NULL;
  assert_int_equal(arena_take(arena, 9000, &none), CONVOY_ERR_MEMORY);
  assert_null(none);
  assert_non_null(strstr(cvy_last_error(), "9000"));
  assert_non_null(strstr(cvy_last_error(), "4096 are in use"));
  assert_int_equal(arena_take(arena, 20000, &none), CONVOY_ERR_MEMORY);
  assert_int_equal(arena_take(arena, INT64_MAX, &none), CONVOY_ERR_MEMORY);
  arena_give(arena, kept);
  arena_give(arena, take(arena, 8000));
  arena_free(arena);
}

/* Random use never hands out overlapping pieces. */
static void pieces_never_overlap(void **state) {
  (void)state;
  fake_source source = {.room = 1 << 24};
  cvy_arena *arena = new_arena(&source, 16384);
  arena_piece *live[40] = {NULL};
  uint32_t seed = 7;
  for (int i = 0; i < 4000; i++) {
    seed = seed * 1664525u + 1013904223u;
    int slot = (int)(seed >> 16) % 40;
    arena_give(arena, live[slot]);
    live[slot] = take(arena, 1 + (seed >> 8) % 6000);
    for (int j = 0; j < 40; j++) {
      if (j == slot || !live[j] || live[j]->memory != live[slot]->memory) continue;
      assert_true(live[j]->at + live[j]->bytes <= live[slot]->at ||
                  live[slot]->at + live[slot]->bytes <= live[j]->at);
    }
  }
  for (int i = 0; i < 40; i++) arena_give(arena, live[i]);
  assert_int_equal(arena_count(arena).bytes, 0);
  assert_true(arena_count(arena).held <= 16384);
  arena_free(arena);
  assert_int_equal(source.made, source.dropped);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_pieces_share_a_block),
      cmocka_unit_test(freed_neighbours_become_one),
      cmocka_unit_test(the_same_steps_make_no_new_blocks),
      cmocka_unit_test(idle_blocks_beyond_the_limit_go_back),
      cmocka_unit_test(a_full_device_gives_back_idle_blocks_first),
      cmocka_unit_test(a_nearly_full_device_gives_a_small_block),
      cmocka_unit_test(a_limit_is_kept),
      cmocka_unit_test(exhaustion_is_said_with_numbers),
      cmocka_unit_test(pieces_never_overlap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
