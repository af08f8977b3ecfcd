/* core/graph/occupied.c: places are those that a look at all that is there finds. */
#include "core/graph/occupied.h"

#include "common/cmocka.h"
#include "common/random.h"

enum { PLACED = 400, MOMENTS = 37, ROUNDS = 20 };

typedef struct placed {
  cvy_moments span;
  int64_t at, bytes;
} placed;

static bool is_free(const placed *all, int count, const placed *new, int64_t at, int64_t block) {
  if (at / block != (at + new->bytes - 1) / block) return false;
  for (int i = 0; i < count; i++) {
    bool meet = all[i].span.first <= new->span.last &&new->span.first <= all[i].span.last;
    if (meet && all[i].at < at + new->bytes &&at < all[i].at + all[i].bytes) return false;
  }
  return true;
}

static void check_round(test_random *random, int64_t block) {
  static placed all[PLACED];
  cvy_occupied occupied;
  assert_int_equal(cvy_occupied_open(MOMENTS, &occupied), CONVOY_OK);
  for (int i = 0; i < PLACED; i++) {
    int first = (int)test_between(random, 0, MOMENTS - 1);
    int last = (int)test_between(random, first, i % 3 ? first + 3 : MOMENTS - 1);
    placed new = {{first, last < MOMENTS ? last : MOMENTS - 1}, 0, test_between(random, 1, 9)};
    int64_t at = 0;
    while (!is_free(all, i, &new, at, block)) at++;
    new.at = cvy_occupied_least(&occupied, new.span, new.bytes, block);
    assert_int_equal(new.at, at);
    assert_int_equal(cvy_occupied_add(&occupied, new.span, new.at, new.bytes), CONVOY_OK);
    all[i] = new;
  }
  cvy_occupied_close(&occupied);
}

static void places_are_the_least(void **state) {
  (void)state;
  test_random random = {3};
  for (int round = 0; round < ROUNDS; round++)
    check_round(&random, round % 2 ? test_between(&random, 9, 40) : INT64_C(1) << 46);
}

static void a_single_moment_is_enough(void **state) {
  (void)state;
  cvy_occupied occupied;
  const cvy_moments span = {0, 0};
  assert_int_equal(cvy_occupied_open(1, &occupied), CONVOY_OK);
  for (int64_t at = 0; at < 50; at += 5) {
    assert_int_equal(cvy_occupied_least(&occupied, span, 5, 1000), at);
    assert_int_equal(cvy_occupied_add(&occupied, span, at, 5), CONVOY_OK);
  }
  assert_int_equal(occupied.always[1].count, 1); /* side by side they are one */
  cvy_occupied_close(&occupied);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_are_the_least),
      cmocka_unit_test(a_single_moment_is_enough),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
