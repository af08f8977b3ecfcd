/* Excerpts: whatever part of a problem they are, its definition gives the same elements there as in
 * the whole, and a whole computed by the excerpt's own arrays is that part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "common/random.h"
#include "problem/operation.h"

enum { MOST = 1 << 16, SEEDS = 12 };

static int64_t excerpt_bytes(const cvy_excerpt *excerpt) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < cvy_problem_reads(&excerpt->problem); i++)
    bytes += excerpt->in[i].bytes * excerpt->in[i].count;
  for (int32_t i = 0; i < cvy_problem_outputs(&excerpt->problem); i++)
    bytes += excerpt->out[i].bytes * excerpt->out[i].count;
  return bytes;
}

static const char *const texts[] = {
    "n3c8h9w7 k6r3s3 stride2 pad1 groups2 forward",
    "n2c8h9w7 k6r3s3 stride1 pad1 groups2 backward_data",
    "n3c8h9w7 k6r3s3 stride2 pad1 groups2 backward_weights",
    "n3c5h6w7 k4r3s3 pad1 forward",
    "n3c5h6w7 k4r3s3 pad1 backward_data",
    "n3c5h6w7 k4r3s3 pad1 backward_weights",
    "n3c6h6w7 k6r3s3 pad1 groups6 backward_weights",
    "n3c1h6w7 k4r1s1 backward_bias",
    "n4c3w20 k5s4 stride3 forward",
    "n2c3z4h5w6 k2t2r2s2 transposed forward",
    "y0 = x0 * sigmoid(x1) on n3c4h5w6 x1:channel",
    "y0 = x0 + x1; y1 = x0 - x1 on n3c4h5w6",
    "y0 = x0 * index(h) on n3c4h5w6",
    "y0 = x0 * index(c) on n3c4h5w6",
    "y0 = x0 * random(0) on n3c4h5w6",
    "y0 = x0 * x1 on n3c4h5w6 x1:full:uint8",
    "y0 = x0 on n3c4h5w6 x0:strides=400,7,0,30,1",
    "y0 = mean over n h w of x0; y1 = variance over n h w of x0 on n3c4h5w6",
    "y0 = sum over n h w of x0 * x1 on n3c4h5w6 x1:channel",
    "y0 = sum over n c h w of x0 on n3c4h5w6",
    "y0 = maximum over c of x0 on n3c4h5w6",
    "y0 = sum over h w of x0 on n3c4h5w6",
    "matmul a3x5x7 b3x7x4",
    "matmul a5x7 b7x4",
    "max_pool n3c4h9w9 r3s3 stride2 pad1",
    "average_pool_backward n3c4h9w9 r3s3 stride2 pad1",
    "n3c8h9w7 k6r3s3 stride2 pad1 groups2 forward, x 1000 apart by 4, y 200 apart by 2",
    "n2c8h9w7 k6r3s3 stride1 pad1 groups2 backward_data, x 509 apart by 1, y 400 apart by 4",
    "n3c8h9w7 k6r3s3 stride2 pad1 groups2 backward_weights, x 1000 apart by 4",
    "n3c5h6w7 k4r3s3 pad1 backward_weights, y 500 apart by 4",
    "n3c1h6w7 k4r1s1 backward_bias, y 170 apart by 2",
    "matmul a3x5x7 b3x7x4, a 40 apart by 4, b 29 apart by 1, y 22 apart by 2",
    "matmul a3x5x7 b7x4, a 40 apart by 4, y 22 apart by 2",
    "max_pool n3c4h9w9 r3s3 stride2 pad1, x 400 apart by 4, y 110 apart by 2",
    "average_pool_backward n3c4h9w9 r3s3 stride2 pad1, y 101 apart by 1, dx 325 apart by 1",
    "y0 = x0 * sigmoid(x1) on n3c4h5w6 x0:strides=130,30,0,6,1 x1:channel y0:strides=200,30,0,6,1",
    "y0 = x0 * random(0) on n3c4h5w6 y0:strides=200,30,0,6,1",
    "y0 = x0 * index(n) + index(c) on n3c4h5w6 x0:strides=130,30,0,6,1 y0:strides=200,30,0,6,1",
    "y0 = sum over h w of x0; y1 = maximum over h w of x0 on n3c4h5w6 x0:strides=130,30,0,6,1 "
    "y1:strides=7,1,0,0,0",
};

typedef struct arrays {
  float *in[CVY_MOST_READ], *out[CVY_MAX_OUTPUTS];
} arrays;

static float *fill(int64_t bytes, convoy_dtype dtype, test_random *random) {
  float *values = calloc(1, (size_t)bytes + 8);
  assert_non_null(values);
  if (dtype == CONVOY_FLOAT32)
    test_fill_reals(random, values, bytes / 4);
  else
    for (int64_t i = 0; i < bytes; i++)
      ((unsigned char *)values)[i] = (unsigned char)test_between(random, 0, 9);
  return values;
}

static void make(const cvy_problem *problem, test_random *random, arrays *out) {
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++)
    out->in[i] =
        fill(cvy_problem_input_bytes(problem, i), cvy_problem_input(problem, i).dtype, random);
}

static cvy_values values_of(const arrays *a) {
  cvy_values values;
  for (int32_t i = 0; i < CVY_MOST_READ; i++) values.in[i] = a->in[i];
  return values;
}

/* All elements of a result by its definition, where they lie. */
static float *define(const cvy_problem *problem, const arrays *a, int32_t output) {
  const cvy_values from = values_of(a);
  const cvy_array array = cvy_problem_output(problem, output);
  float *result = calloc((size_t)cvy_array_bytes(&array) + 4, 1);
  assert_non_null(result);
  for (int64_t i = 0; i < cvy_array_count(&array); i++)
    result[cvy_array_place(&array, i)] =
        (float)cvy_problem_element(problem, &from, output, i).value;
  return result;
}

static void *gather(const void *from, int64_t all, cvy_stretches range) {
  char *to = calloc(1, (size_t)(range.bytes * range.count) + 8);
  assert_non_null(to);
  for (int64_t i = 0; i < range.count; i++) {
    int64_t at = range.at + i * range.stride;
    assert_true(at >= 0 && at + range.bytes <= all);
    memcpy(to + i * range.bytes, (const char *)from + at, (size_t)range.bytes);
  }
  return to;
}

static void check(const cvy_problem *problem, const arrays *whole, const cvy_excerpt *excerpt) {
  arrays part = {{NULL}, {NULL}};
  const cvy_problem *small = &excerpt->problem;
  cvy_problem apart;
  assert_true(cvy_problem_legal(small));
  cvy_problem_apart(small, &apart);
  assert_true(cvy_problem_equal(small, &apart));
  assert_int_equal(cvy_problem_reads(small), cvy_problem_reads(problem));
  for (int32_t i = 0; i < cvy_problem_reads(small); i++) {
    assert_int_equal(cvy_problem_input_bytes(small, i),
                     excerpt->in[i].bytes * excerpt->in[i].count);
    part.in[i] = gather(whole->in[i], cvy_problem_input_bytes(problem, i), excerpt->in[i]);
  }
  for (int32_t o = 0; o < cvy_problem_outputs(small); o++) {
    int64_t bytes = cvy_problem_output_bytes(small, o);
    assert_int_equal(bytes, excerpt->out[o].bytes * excerpt->out[o].count);
    float *all = define(problem, whole, o), *own = define(small, &part, o);
    float *wanted = gather(all, cvy_problem_output_bytes(problem, o), excerpt->out[o]);
    assert_memory_equal(own, wanted, (size_t)bytes);
    free(all);
    free(own);
    free(wanted);
  }
  for (int32_t i = 0; i < CVY_MOST_READ; i++) free(part.in[i]);
}

static void check_all(const char *text, int32_t accumulate) {
  cvy_problem problem = {0};
  if (!cvy_problem_read(text, &problem)) fail_msg("%s: not read", text);
  problem.accumulate = accumulate;
  if (!cvy_problem_legal(&problem)) return; /* it adds to nothing */
  test_random random = {1};
  arrays whole = {{NULL}, {NULL}};
  make(&problem, &random, &whole);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    cvy_excerpt excerpt;
    cvy_problem_excerpt(&problem, seed, &excerpt);
    check(&problem, &whole, &excerpt);
  }
  for (int32_t i = 0; i < CVY_MOST_READ; i++) free(whole.in[i]);
}

static void an_excerpt_is_a_part(void **state) {
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(texts); t++)
    for (int32_t accumulate = 0; accumulate < 2; accumulate++) check_all(texts[t], accumulate);
}

/* Batch norm's sums and a layer's gradient, of which all would be a gigabyte. */
static void large_problems_have_small_ones(void **state) {
  static const char *const large[] = {
      "n16c64h160w160 k64r3s3 pad1 backward_weights",
      "n16c64h160w160 k64r3s3 pad1 forward",
      "y0 = mean over n h w of x0; y1 = variance over n h w of x0 on n16c64h160w160",
      "y0 = x0 * sigmoid(x0) * x1 on n16c64h160w160 x1:channel",
  };
  (void)state;
  for (size_t t = 0; t < CVY_COUNT(large); t++) {
    cvy_problem problem = {0};
    cvy_excerpt excerpt;
    assert_true(cvy_problem_read(large[t], &problem));
    cvy_problem_excerpt(&problem, 7, &excerpt);
    assert_true(excerpt_bytes(&excerpt) < 8 << 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_excerpt_is_a_part),
      cmocka_unit_test(large_problems_have_small_ones),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
