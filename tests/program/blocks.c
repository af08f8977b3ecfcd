#include "program/blocks.h"

#include <string.h>

static void fill_input(test_random *random, test_block *block, int input, bool mixed) {
  block->type[input] = mixed ? (uint8_t)(test_between(random, 0, 5) % 3) : TEST_FLOAT32;
  if (test_between(random, 0, 1)) block->type[input] = TEST_FLOAT32;
  block->single[input] = mixed && test_between(random, 0, 2) == 0;
  for (int i = 0; i < block->count; i++) {
    bool same = block->single[input] && i;
    if (block->type[input] == TEST_UINT8) {
      block->input[input].byte[i] = same ? block->input[input].byte[0] : (uint8_t)test_next(random);
    } else if (block->type[input] == TEST_INT32) {
      block->input[input].whole[i] =
          same ? block->input[input].whole[0]
               : (int32_t)test_next(random) >> test_between(random, 0, 31);
    } else {
      block->input[input].real[i] = same ? block->input[input].real[0] : test_hostile(random);
    }
  }
}

static float input_at(const test_block *block, int input, int i) {
  if (block->type[input] == TEST_UINT8) return (float)block->input[input].byte[i];
  if (block->type[input] == TEST_INT32) return (float)block->input[input].whole[i];
  return block->input[input].real[i];
}

static void expect(const cvy_program *program, test_block *block, int i) {
  float inputs[CVY_PROGRAM_INPUTS], results[CVY_PROGRAM_RESULTS];
  cvy_program_place place = {.index = block->first + (uint64_t)i, .stream = block->stream};
  uint64_t rest = place.index;
  for (int axis = CVY_PROGRAM_AXES - 1; axis >= 0; axis--) {
    place.axis[axis] = (int32_t)(rest % (uint64_t)block->extent[axis]);
    rest /= (uint64_t)block->extent[axis];
  }
  for (int k = 0; k < program->inputs; k++) inputs[k] = input_at(block, k, i);
  block->plain[i] = cvy_program_element(program, inputs, &place, results);
  for (int k = 0; k < program->results; k++) block->expected[k][i] = results[k];
}

void test_block_fill(test_random *random, const cvy_program *program, int count, bool mixed,
                     test_block *out) {
  out->count = count;
  out->first = test_next(random) >> test_between(random, 8, 63);
  out->stream = cvy_program_stream_of(test_next(random), 3, 4);
  for (int i = 0; i < CVY_PROGRAM_AXES; i++) out->extent[i] = test_between(random, 1, 40);
  for (int i = 0; i < program->inputs; i++) fill_input(random, out, i, mixed);
  for (int i = 0; i < count; i++) expect(program, out, i);
}

int test_block_differs(const test_block *block, int result, const float *got, int *first) {
  int differences = 0;
  for (int i = block->count - 1; i >= 0; i--) {
    if (!block->plain[i] || test_same_bits(got[i], block->expected[result][i])) continue;
    *first = i;
    differences++;
  }
  return differences;
}
