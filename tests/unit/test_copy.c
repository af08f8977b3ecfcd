/* src/os/copy.c: every byte arrives, whoever copies it, and none besides. */
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "os/os.h"

enum { ROOM = 64 }; /* before and behind what is copied to */

static unsigned char byte_at(int64_t i) {
  return (unsigned char)((uint64_t)i * 2654435761u >> 13);
}

static void check_copy(int64_t bytes, int64_t shift, int32_t threads) {
  unsigned char *from = malloc((size_t)(bytes + ROOM)), *to = malloc((size_t)(bytes + 2 * ROOM));
  assert_true(from && to);
  for (int64_t i = 0; i < bytes; i++) from[shift + i] = byte_at(i);
  memset(to, 0xa5, (size_t)(bytes + 2 * ROOM));
  const cvy_copy_part part = {to + ROOM - shift, from + shift, bytes};
  if (threads > 0)
    cvy_copy_by(&part, 1, threads, NULL, NULL);
  else
    cvy_copy(to + ROOM - shift, from + shift, bytes);
  assert_memory_equal(to + ROOM - shift, from + shift, (size_t)bytes);
  for (int64_t i = 0; i < ROOM - shift; i++) assert_int_equal(to[i], 0xa5);
  for (int64_t i = ROOM - shift + bytes; i < bytes + 2 * ROOM; i++) assert_int_equal(to[i], 0xa5);
  free(from);
  free(to);
}

static void every_byte_is_copied_once(void **state) {
  static const int64_t sizes[] = {1, 3, 63, 64, 65, 255, 4096, 1000003, (4 << 20) + 7};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int32_t threads = 0; threads <= 10; threads++)
      for (int64_t shift = 0; shift < 12; shift += 5) check_copy(sizes[i], shift, threads);
}

/* Parts of all sizes from one array into another, each told of once it is there. */
enum { PARTS = 40 };

typedef struct watch {
  const cvy_copy_part *parts;
  int32_t told;
} watch;

static void is_there(void *user, int32_t i) {
  watch *w = user;
  assert_int_equal(i, w->told++);
  assert_memory_equal(w->parts[i].to, w->parts[i].from, (size_t)w->parts[i].bytes);
}

static void check_parts(cvy_copy_part *parts, unsigned char *from, unsigned char *to,
                        int32_t threads) {
  int64_t at = 0;
  for (int32_t i = 0; i < PARTS; i++) {
    int64_t bytes = i % 10 == 9 ? (12 << 20) + i : (int64_t)i * 997;
    parts[i] = (cvy_copy_part){to + at, from + at, bytes};
    at += bytes;
  }
  memset(to, 0xa5, (size_t)at + 1);
  watch w = {parts, 0};
  cvy_copy_by(parts, PARTS, threads, is_there, &w);
  assert_int_equal(w.told, PARTS);
  memset(to, 0xa5, (size_t)at + 1);
  cvy_copy_by(parts, PARTS, threads, NULL, NULL);
  assert_memory_equal(to, from, (size_t)at);
  assert_int_equal(to[at], 0xa5);
}

static void parts_are_told_of_in_order(void **state) {
  const size_t most = (size_t)52 << 20;
  unsigned char *from = malloc(most), *to = malloc(most);
  cvy_copy_part parts[PARTS];
  (void)state;
  assert_true(from && to);
  for (size_t i = 0; i < most; i++) from[i] = byte_at((int64_t)i);
  for (int32_t threads = 1; threads <= 9; threads += 2) check_parts(parts, from, to, threads);
  cvy_copy_parts(parts, PARTS, NULL, NULL);
  cvy_copy_parts(parts, 0, NULL, NULL);
  free(from);
  free(to);
}

static void nothing_may_be_copied_from_nowhere(void **state) {
  (void)state;
  cvy_copy(NULL, NULL, 0);
}

static void half_of_the_processors_copy(void **state) {
  const int64_t much = INT64_C(1) << 30, one = 1 << 20;
  (void)state;
  assert_int_equal(cvy_copy_threads(much, 1), 1);
  assert_int_equal(cvy_copy_threads(much, 3), 1);
  assert_int_equal(cvy_copy_threads(much, 4), 2);
  assert_int_equal(cvy_copy_threads(much, 12), 6);
  assert_int_equal(cvy_copy_threads(much, 16), 8);
  assert_int_equal(cvy_copy_threads(much, 1000), 8);
  assert_int_equal(cvy_copy_threads(0, 16), 1);
  assert_int_equal(cvy_copy_threads(2 * one - 1, 16), 1);
  assert_int_equal(cvy_copy_threads(2 * one, 16), 2);
  assert_int_equal(cvy_copy_threads(8 * one, 16), 4);
  assert_int_equal(cvy_copy_threads(32 * one, 16), 8);
  assert_int_equal(cvy_copy_threads(32 * one, 2), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_byte_is_copied_once),
      cmocka_unit_test(parts_are_told_of_in_order),
      cmocka_unit_test(nothing_may_be_copied_from_nowhere),
      cmocka_unit_test(half_of_the_processors_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
