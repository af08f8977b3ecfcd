/* Cuts, shares and blocks of outputs cover the whole once, and a block sees the input of its
 * outputs. */
#include "common/cmocka.h"
#include "common/random.h"
#include "cpu/shared/blocks.h"

enum { WHOLE = 60, ROUNDS = 5000 };

static void check_cut(int64_t whole, int64_t parts, int64_t unit) {
  cvy_cut cut = cvy_cut_into(whole, parts, unit);
  int64_t end = 0;
  assert_in_range(cut.count, whole > 0, parts);
  for (int64_t i = 0; i < cut.count; i++) {
    cvy_range part = cvy_cut_part(cut, whole, i);
    assert_int_equal(part.begin, end);
    assert_true(part.end > part.begin && part.end - part.begin <= cut.size);
    assert_true(part.end == whole || part.end % unit == 0);
    end = part.end;
  }
  assert_int_equal(end, whole);
}

static void check_shares(int64_t whole, int64_t shares) {
  int64_t end = 0, least = whole, most = 0;
  for (int64_t i = 0; i < shares; i++) {
    cvy_range share = cvy_share(whole, shares, i);
    assert_int_equal(share.begin, end);
    least = cvy_min(least, cvy_range_length(share));
    most = cvy_max(most, cvy_range_length(share));
    end = share.end;
  }
  assert_int_equal(end, whole);
  assert_true(most - least <= 1);
}

static void parts_cover_the_whole_once(void **state) {
  (void)state;
  for (int64_t whole = 0; whole <= WHOLE; whole++) {
    for (int64_t parts = 1; parts <= WHOLE + 2; parts++) {
      check_shares(whole, parts);
      for (int64_t unit = 1; unit <= 16; unit++) check_cut(whole, parts, unit);
    }
  }
}

/* Where tap `tap` of output `o` of an axis reads in the whole, or -1 in the padding. */
static int64_t reads(const cvy_problem *p, int axis, int64_t o, int64_t tap) {
  int64_t i = o * p->conv.stride[axis] - p->conv.pad[axis] + tap * p->conv.dilation[axis];
  return i >= 0 && i < p->conv.in[axis] ? i : -1;
}

static void check_block(const cvy_problem *p, const cvy_output_block *block, int axis) {
  int64_t in_row = 1, out_row = 1;
  for (int i = axis + 1; i < 3; i++) in_row *= p->conv.in[i], out_row *= p->conv.out[i];
  assert_int_equal(block->out_at, block->first * out_row);
  for (int64_t o = 0; o < block->p.conv.out[axis]; o++) {
    for (int64_t tap = 0; tap < p->conv.filter[axis]; tap++) {
      int64_t here = reads(&block->p, axis, o, tap);
      int64_t there = reads(p, axis, block->first + o, tap);
      assert_int_equal(here < 0, there < 0);
      if (here >= 0) assert_int_equal(block->in_at + here * in_row, there * in_row);
    }
  }
}

static void blocks_see_the_input_of_their_outputs(void **state) {
  (void)state;
  test_random random = {9};
  for (int round = 0; round < ROUNDS; round++) {
    cvy_problem p = {.conv.n = test_between(&random, 1, 9)};
    for (int i = 0; i < 3; i++) {
      p.conv.in[i] = test_between(&random, 1, 12);
      p.conv.filter[i] = test_between(&random, 1, 4);
      p.conv.stride[i] = test_between(&random, 1, 3);
      p.conv.dilation[i] = test_between(&random, 1, 3);
      p.conv.pad[i] = test_between(&random, 0, 5);
      p.conv.out[i] = test_between(&random, 1, 12);
    }
    cvy_output_blocks blocks = {.axis = (int)test_between(&random, 0, 2)};
    int64_t extent = p.conv.out[blocks.axis], outputs = 0;
    blocks.outputs = cvy_cut_into(extent, test_between(&random, 1, 12), 1);
    blocks.images = cvy_cut_into(p.conv.n, test_between(&random, 1, 9), 1);
    for (int64_t i = 0; i < cvy_output_blocks_count(&blocks); i++) {
      cvy_output_block block = cvy_output_block_at(&blocks, &p, i);
      check_block(&p, &block, blocks.axis);
      outputs += block.p.conv.out[blocks.axis] * cvy_range_length(block.images);
    }
    assert_int_equal(outputs, extent * p.conv.n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_cover_the_whole_once),
      cmocka_unit_test(blocks_see_the_input_of_their_outputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
