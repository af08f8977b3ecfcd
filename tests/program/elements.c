#include "program/elements.h"

#include <string.h>

static void fill_input(test_random *random, test_elements *all, int input, bool mixed) {
  all->type[input] = mixed ? (uint8_t)(test_between(random, 0, 5) % 3) : TEST_FLOAT32;
  if (test_between(random, 0, 1)) all->type[input] = TEST_FLOAT32;
  all->single[input] = mixed && test_between(random, 0, 2) == 0;
  for (int i = 0; i < all->count; i++) {
    bool same = all->single[input] && i;
    if (all->type[input] == TEST_UINT8) {
      all->input[input].byte[i] = same ? all->input[input].byte[0] : (uint8_t)test_next(random);
    } else if (all->type[input] == TEST_INT32) {
      all->input[input].whole[i] = same ? all->input[input].whole[0]
                                        : (int32_t)test_next(random) >> test_between(random, 0, 31);
    } else {
      all->input[input].real[i] = same ? all->input[input].real[0] : test_hostile(random);
    }
  }
}

static float input_at(const test_elements *all, int input, int i) {
  if (all->type[input] == TEST_UINT8) return (float)all->input[input].byte[i];
  if (all->type[input] == TEST_INT32) return (float)all->input[input].whole[i];
  return all->input[input].real[i];
}

static void expect(const cvy_program *program, test_elements *all, int i) {
  float inputs[CVY_PROGRAM_INPUTS], results[CVY_PROGRAM_RESULTS];
  cvy_program_place place = {.index = all->first + (uint64_t)i, .stream = all->stream};
  uint64_t rest = place.index;
  for (int axis = CVY_PROGRAM_AXES - 1; axis >= 0; axis--) {
    place.axis[axis] = (int32_t)(rest % (uint64_t)all->extent[axis]);
    rest /= (uint64_t)all->extent[axis];
  }
  for (int k = 0; k < program->inputs; k++) inputs[k] = input_at(all, k, i);
  all->plain[i] = cvy_program_element(program, inputs, &place, results);
  for (int k = 0; k < program->results; k++) all->expected[k][i] = results[k];
}

void test_elements_fill(test_random *random, const cvy_program *program, int count, bool mixed,
                        test_elements *out) {
  out->count = count;
  out->first = test_next(random) >> test_between(random, 8, 63);
  out->stream = cvy_program_stream_of(test_next(random), 3, 4);
  for (int i = 0; i < CVY_PROGRAM_AXES; i++) out->extent[i] = test_between(random, 1, 40);
  for (int i = 0; i < program->inputs; i++) fill_input(random, out, i, mixed);
  for (int i = 0; i < count; i++) expect(program, out, i);
}

int test_elements_differs(const test_elements *all, int result, const float *got, int *first) {
  int differences = 0;
  for (int i = all->count - 1; i >= 0; i--) {
    if (!all->plain[i] || test_same_bits(got[i], all->expected[result][i])) continue;
    *first = i;
    differences++;
  }
  return differences;
}
