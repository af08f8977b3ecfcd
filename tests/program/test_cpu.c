/* src/cpu/program: on every instruction set of this processor, interpreted and compiled ahead,
 * programs give the bits of their definition. `test_program_cpu PROGRAMS` takes so many random
 * programs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cmocka.h"
#include "cpu/program/run.h"
#include "cpu/threads/denormals.h"
#include "program/elements.h"
#include "program/simd_sets.h"

enum { GUARD = 32 }; /* floats in front of a result and behind it */

static int programs = 10000;

/* What a run needs, in memory of its own: aligned to 4 bytes and no more, with guards around
 * results. */
typedef struct run {
  cvy_program_arrays arrays;
  cvy_program_position position;
  float inputs[CVY_PROGRAM_INPUTS][TEST_ELEMENTS + 3];
  float results[CVY_PROGRAM_RESULTS][TEST_ELEMENTS + 2 * GUARD + 3];
} run;

static float guard(void) {
  return 12345.678f;
}

static void prepare_run(const cvy_program *program, const test_elements *data, run *r) {
  memset(&r->arrays, 0, sizeof r->arrays);
  r->position.first = data->first;
  memcpy(r->position.extent, data->extent, sizeof data->extent);
  r->position.stream = data->stream;
  r->arrays.count = data->count;
  r->arrays.position = &r->position;
  for (int i = 0; i < program->inputs; i++) {
    float *at = r->inputs[i] + 1 + i % 3;
    size_t size = data->type[i] == TEST_UINT8 ? 1 : 4;
    memcpy(at, &data->input[i], (size_t)(data->single[i] ? 1 : data->count) * size);
    r->arrays.input[i] = at;
  }
  for (int k = 0; k < program->results; k++) {
    for (int i = 0; i < TEST_ELEMENTS + 2 * GUARD + 3; i++) r->results[k][i] = guard();
    r->arrays.result[k] = r->results[k] + GUARD + 1 + k % 3;
  }
}

/* Some results lie where an input does, each input at most once. */
static void move_into_inputs(test_random *random, const cvy_program *program,
                             const test_elements *data, run *r) {
  for (int k = 0; k < program->results && program->inputs; k++) {
    int i = (int)test_between(random, 0, program->inputs - 1);
    bool taken = data->single[i] || data->type[i] == TEST_UINT8;
    for (int other = 0; other < k; other++)
      taken |= r->arrays.input[i] == (const void *)r->arrays.result[other];
    if (!taken) r->arrays.result[k] = r->inputs[i] + 1 + i % 3;
  }
}

static void check_guards(const cvy_program *program, const run *r) {
  for (int k = 0; k < program->results; k++) {
    const float *start = r->results[k] + GUARD + 1 + k % 3;
    bool own = r->arrays.result[k] == start;
    for (int i = 0; i < TEST_ELEMENTS + 2 * GUARD + 3; i++) {
      bool written =
          own && r->results[k] + i >= start && r->results[k] + i < start + r->arrays.count;
      if (!written) assert_true(r->results[k][i] == guard());
    }
  }
}

static void check(const cvy_program *program, const test_elements *data, const run *r,
                  const cvy_program_simd *set, const char *how) {
  for (int k = 0; k < program->results; k++) {
    int at = 0;
    int wrong = test_elements_differs(data, k, r->arrays.result[k], &at);
    if (!wrong) continue;
    char text[CVY_PROGRAM_TEXT];
    cvy_program_text(program, NULL, text, sizeof text);
    for (int i = 0; i < program->inputs; i++) {
      if (data->type[i] == TEST_FLOAT32)
        print_message("x%d = %a\n", i, (double)data->input[i].real[at]);
    }
    fail_msg("%s, %s: %d of %d elements of result %d differ, [%d] is %a, expected %a: '%s'",
             set->name, how, wrong, data->count, k, at, (double)r->arrays.result[k][at],
             (double)data->expected[k][at], text);
  }
  check_guards(program, r);
}

/* Half of all runs with denormal numbers flushed, as the engine's threads do. */
static void run_plan(test_random *random, const cvy_program_plan *plan, const run *r) {
  bool flush = test_between(random, 0, 1);
  uint64_t mode = flush ? cvy_denormals_flush() : 0;
  cvy_program_run(plan, &r->arrays);
  if (flush) cvy_denormals_restore(mode);
}

static void check_program(test_random *random, const cvy_program *program,
                          const test_elements *data, bool in_place) {
  static run r;
  cvy_program_form forms[CVY_PROGRAM_INPUTS];
  for (int i = 0; i < program->inputs; i++)
    forms[i] = (cvy_program_form){data->type[i], data->single[i]};
  for (int s = 0; s < test_set_count; s++) {
    cvy_program_plan plan;
    cvy_program_prepare(program, forms, test_sets[s], &plan);
    prepare_run(program, data, &r);
    if (in_place) move_into_inputs(random, program, data, &r);
    run_plan(random, &plan, &r);
    check(program, data, &r, test_sets[s], plan.fused < 0 ? "interpreted" : "compiled ahead");
  }
}

static int random_count(test_random *random) {
  int most = test_between(random, 0, 15) ? 100 : TEST_ELEMENTS;
  return (int)test_between(random, 0, most);
}

static void random_programs(void **state) {
  (void)state;
  static test_elements data;
  test_random random = {77};
  int64_t plain = 0, all = 0;
  for (int i = 0; i < programs; i++) {
    cvy_program program;
    test_random_program(&random, TEST_ANY, (int)test_between(&random, 1, 90), &program);
    test_elements_fill(&random, &program, random_count(&random), true, &data);
    check_program(&random, &program, &data, test_between(&random, 0, 1));
    for (int k = 0; k < data.count; k++) plain += data.plain[k];
    all += data.count;
  }
  print_message("%d programs, %lld elements, %lld without denormal numbers\n", programs,
                (long long)all, (long long)plain);
  assert_true(plain > all * 3 / 4);
}

static void programs_that_no_text_gives(void **state) {
  (void)state;
  static test_elements data;
  test_random random = {78};
  for (int i = 0; i < 2000; i++) {
    cvy_program program;
    test_raw_program(&random, &program);
    assert_int_equal(cvy_program_check(&program), CONVOY_OK);
    test_elements_fill(&random, &program, random_count(&random), true, &data);
    check_program(&random, &program, &data, test_between(&random, 0, 1));
  }
}

/* Every instruction on values that are hard, in its own program. */
static void every_instruction(void **state) {
  (void)state;
  static test_elements data;
  static const char *const texts[] = {
      "y = a + b",
      "y = a - b",
      "y = a * b",
      "y = a / b",
      "y = -a",
      "y = a < b",
      "y = a <= b",
      "y = a == b",
      "y = a != b",
      "y = a ? b : c",
      "y = fma(a,b,c)",
      "y = min(a, b)",
      "y = max(a, b)",
      "y = abs(a)",
      "y = exp(a)",
      "y = log(a)",
      "y = tanh(a)",
      "y = erf(a)",
      "y = sqrt(a)",
      "y = rsqrt(a)",
      "y = sigmoid(a)",
      "y = floor(a)",
      "y = index(z)",
      "y = random(5)",
      "y = a",
      "y = a < b ? c : d",
      "y = a <= b ? c : d",
      "y = a * sigmoid(a)",
      "y = (a - b) * c + d",
      "y = d + (a - b) * c",
      "y = a*b + c",
      "y = c + a*b",
      "y = a*b - c",
      "y = c - a*b",
      "y = a*b*c",
      "y = a*(b*c)",
      "y = a+b+c",
      "y = a+(b+c)",
      "y = a+b-c",
      "y = c-(a+b)",
      "y = (a+b)*c",
      "y = a-b+c",
      "y = a-b-c",
      "y = c-(a-b)",
      "y = (a-b)*c",
  };
  test_random random = {5};
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    cvy_program program;
    assert_int_equal(cvy_program_parse(texts[i], &program, NULL), CONVOY_OK);
    for (int round = 0; round < 10; round++) {
      test_elements_fill(&random, &program, TEST_ELEMENTS - round, round > 4, &data);
      check_program(&random, &program, &data, round & 1);
    }
  }
}

/* The product of two odd numbers of 13 bits is halfway between two floats, and what is added, too
 * small for a double to hold both, says where to. */
static void fused_multiply_add_rounds_once(void **state) {
  (void)state;
  static test_elements data;
  cvy_program program;
  test_random random = {6};
  int hard = 0; /* rounding the product first gives another result */
  assert_int_equal(cvy_program_parse("y = fma(a, b, c)", &program, NULL), CONVOY_OK);
  test_elements_fill(&random, &program, TEST_ELEMENTS, false, &data);
  for (int i = 0; i < TEST_ELEMENTS; i++) {
    float a = (float)(4097 + 2 * test_between(&random, 0, 800));
    float b = (float)(4097 + 2 * test_between(&random, 0, 800)) * (i & 1 ? 1.0f : -1.0f);
    float c = (i & 2 ? 1.0f : -1.0f) * (i & 4 ? 0x1p-40f : 0x1p-120f);
    float product = a * b, in[3] = {a, b, c};
    for (int k = 0; k < 3; k++) data.input[k].real[i] = in[k];
    data.plain[i] = cvy_program_element(&program, in, NULL, &data.expected[0][i]);
    assert_true(data.plain[i]);
    double wanted = (double)a * b + (c > 0 ? 1 : -1);
    assert_true((double)data.expected[0][i] == wanted);
    hard += (double)product != wanted;
  }
  assert_true(hard > TEST_ELEMENTS / 3);
  check_program(&random, &program, &data, false);
}

static void programs_compiled_ahead(void **state) {
  (void)state;
  static test_elements data;
  static run r;
  test_random random = {8};
  for (int f = 0; f < cvy_fused_count; f++) {
    const cvy_fused_program *fused = &cvy_fused_programs[f];
    cvy_program program = test_program_ahead(fused, 0.3f * (float)(f + 1));
    assert_int_equal(cvy_program_check(&program), CONVOY_OK);
    for (int count = 0; count < 300; count += 1 + count / 4) {
      cvy_program_form forms[CVY_PROGRAM_INPUTS];
      test_elements_fill(&random, &program, count, false, &data);
      for (int i = 0; i < program.inputs; i++) {
        data.single[i] = fused->single >> i & 1;
        forms[i] = (cvy_program_form){CONVOY_FLOAT32, data.single[i]};
        for (int k = 1; data.single[i] && k < count; k++)
          data.input[i].real[k] = data.input[i].real[0];
      }
      for (int i = 0; i < count; i++) {
        float inputs[CVY_PROGRAM_INPUTS], results[CVY_PROGRAM_RESULTS];
        for (int k = 0; k < program.inputs; k++) inputs[k] = data.input[k].real[i];
        data.plain[i] = cvy_program_element(&program, inputs, NULL, results);
        for (int k = 0; k < program.results; k++) data.expected[k][i] = results[k];
      }
      for (int s = 0; s < test_set_count; s++) {
        cvy_program_plan plan;
        cvy_program_prepare(&program, forms, test_sets[s], &plan);
        assert_int_equal(plan.fused, f);
        for (int interpreted = 0; interpreted < 2; interpreted++) {
          if (interpreted) cvy_program_interpret_only(&plan);
          prepare_run(&program, &data, &r);
          if (count & 1) move_into_inputs(&random, &program, &data, &r);
          run_plan(&random, &plan, &r);
          check(&program, &data, &r, test_sets[s], interpreted ? "interpreted" : "compiled ahead");
        }
      }
    }
  }
  print_message("%d programs compiled ahead\n", cvy_fused_count);
}

static void known_texts_are_compiled_ahead(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t single;
    bool found;
  } cases[] = {
      {"let t = (x - mean) * scale + shift; y = t * sigmoid(t)", 14, true},
      {"out=silu_in*sigmoid( silu_in )", 0, true},
      {"let t = (x - mean) * scale + shift; y = t * sigmoid(t)", 0, false},
      {"y = x * sigmoid(x) + 1", 0, false},
      /* With a constant of any value, which is the same wherever it stands. */
      {"input x, mean, a, b, dy; let t = b * 0.125 * (x - mean); y = dy + (t + t + a * 0.125)", 14,
       true},
      {"input x, mean, a, b, dy; let t = b * 3e-7 * (x - mean); y = dy + (t + t + a * 3e-7)", 14,
       true},
      {"input x, mean, a, b, dy; let t = b * 0.5 * (x - mean); y = dy + (t + t + a * 0.25)", 14,
       false},
      {"input x, mean, a, b, dy, s; let t = b * s * (x - mean); y = dy + (t + t + a * s)", 46,
       false},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program program;
    cvy_program_plan plan;
    cvy_program_form forms[CVY_PROGRAM_INPUTS];
    assert_int_equal(cvy_program_parse(cases[i].text, &program, NULL), CONVOY_OK);
    for (int k = 0; k < CVY_PROGRAM_INPUTS; k++)
      forms[k] = (cvy_program_form){CONVOY_FLOAT32, cases[i].single >> k & 1};
    cvy_program_prepare(&program, forms, test_sets[0], &plan);
    assert_int_equal(plan.fused >= 0, cases[i].found);
  }
}

static void operations_that_come_together_are_one(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t single;
    int instructions, number_instructions;
  } cases[] = {
      {"let t = (x - mean) * scale + shift; y = t * sigmoid(t)", 14, 2, 0},
      {"y = a*b + c", 0, 1, 0},
      {"y = a < b ? c : d", 0, 1, 0},
      {"let t = a*b; y = t + c; z = t", 0, 2, 0},
      {"y = x * (1 - b*b) * exp(b)", 2, 1, 3}, /* numbers alone: once a run */
      {"y = a; z = a", 0, 2, 0},
  };
  for (size_t i = 0; i < CVY_COUNT(cases); i++) {
    cvy_program program;
    cvy_program_plan plan;
    cvy_program_form forms[CVY_PROGRAM_INPUTS];
    assert_int_equal(cvy_program_parse(cases[i].text, &program, NULL), CONVOY_OK);
    for (int k = 0; k < CVY_PROGRAM_INPUTS; k++)
      forms[k] = (cvy_program_form){CONVOY_FLOAT32, cases[i].single >> k & 1};
    cvy_program_prepare(&program, forms, test_sets[0], &plan);
    if (plan.instructions - plan.number_instructions != cases[i].instructions ||
        plan.number_instructions != cases[i].number_instructions) {
      fail_msg("'%s': %d instructions, %d on numbers", cases[i].text,
               plan.instructions - plan.number_instructions, plan.number_instructions);
    }
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_instruction),
      cmocka_unit_test(fused_multiply_add_rounds_once),
      cmocka_unit_test(known_texts_are_compiled_ahead),
      cmocka_unit_test(operations_that_come_together_are_one),
      cmocka_unit_test(programs_compiled_ahead),
      cmocka_unit_test(programs_that_no_text_gives),
      cmocka_unit_test(random_programs),
  };
  if (argc == 2) programs = atoi(argv[1]);
  test_find_sets();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
