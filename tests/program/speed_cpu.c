/* How fast the CPU runs programs: nanoseconds per element on one thread, planes as a batch of four
 * has them, interpreted and compiled ahead, and a copy of as much memory beside it. Minima of many
 * rounds in turns, since machines are shared. Run by hand:
 *
 *   speed_program_cpu [baseline | avx2 | avx512 [ROUNDS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/now.h"
#include "cpu/program/run.h"
#include "cpu/threads/denormals.h"

static const struct map {
  int planes, size;
} maps[] = {{64, 320 * 320}, {256, 80 * 80}, {512, 40 * 40}, {1024, 20 * 20}};

/* Of each input: 0 an array, 1 another, 2 one number. */
static const struct timed {
  const char *name, *text, *inputs;
} programs[] = {
    {"batch norm + SiLU", "let t = (x - mean) * scale + shift; y = t * sigmoid(t)", "0222"},
    {"its gradient of x",
     "let h = (x - mean) * deviation; let t = h * gamma + beta; let s = sigmoid(t); "
     "let d = dy * (s * (1 + t * (1 - s))); dx = (d - a - h * b) * scale",
     "022221222"},
    {"SiLU", "y = x * sigmoid(x)", "0"},
    {"sum", "y = a + b", "01"},
};

enum { PROGRAMS = CVY_COUNT(programs), WAYS = 2 * PROGRAMS + 1 };

static const cvy_program_simd *set_named(const char *name) {
#if defined(__x86_64__)
  if (!strcmp(name, "avx2")) return &cvy_program_simd_avx2;
  if (!strcmp(name, "avx512")) return &cvy_program_simd_avx512;
#endif
  return strcmp(name, "baseline") ? cvy_program_simd_best() : &cvy_program_simd_baseline;
}

static void prepare(const struct timed *timed, const cvy_program_simd *set,
                    cvy_program_plan *plans) {
  cvy_program program;
  cvy_program_form forms[CVY_PROGRAM_INPUTS];
  memset(forms, 0, sizeof forms);
  if (cvy_program_parse(timed->text, &program, NULL)) exit(EXIT_FAILURE);
  for (int i = 0; i < program.inputs; i++) forms[i].single = timed->inputs[i] == '2';
  cvy_program_prepare(&program, forms, set, &plans[0]);
  plans[1] = plans[0];
  cvy_program_interpret_only(&plans[0]);
  if (plans[1].fused < 0) printf("%s is not compiled ahead\n", timed->name);
}

static void run_plane(const struct timed *timed, const cvy_program_plan *plan, int64_t size,
                      const float *x, const float *dy, float *y) {
  static const float numbers[CVY_PROGRAM_INPUTS] = {0.05f, 1.1f, 0.1f, 0.9f, 0.3f,
                                                    1.2f,  0.4f, 0.2f, 0.7f};
  cvy_program_arrays arrays = {.count = size, .result = {y}};
  for (int i = 0; i < plan->inputs; i++)
    arrays.input[i] = timed->inputs[i] == '0' ? x : timed->inputs[i] == '1' ? dy : &numbers[i];
  cvy_program_run(plan, &arrays);
}

static float *new_values(int64_t count) {
  float *values = aligned_alloc(64, (size_t)count * sizeof(float));
  if (!values) exit(EXIT_FAILURE);
  for (int64_t i = 0; i < count; i++) values[i] = (float)(i * 7919 % 1009) / 256.0f - 2.0f;
  return values;
}

static void measure(const struct map *map, const cvy_program_plan plans[][2], int rounds) {
  int64_t count = (int64_t)map->planes * map->size;
  float *x = new_values(count), *dy = new_values(count), *y = new_values(count);
  double best[WAYS];
  for (int way = 0; way < WAYS; way++) best[way] = 1e9;
  for (int round = 0; round < rounds; round++) {
    for (int way = 0; way < WAYS; way++) {
      double start = test_now();
      for (int64_t at = 0; at < count; at += map->size) {
        if (way == WAYS - 1) {
          memcpy(y + at, x + at, (size_t)map->size * sizeof(float));
        } else {
          run_plane(&programs[way / 2], &plans[way / 2][way % 2], map->size, x + at, dy + at,
                    y + at);
        }
      }
      double took = test_now() - start;
      if (took < best[way]) best[way] = took;
    }
  }
  printf("%d planes of %d, copy %.2f ns\n", map->planes, map->size,
         best[WAYS - 1] / (double)count * 1e9);
  for (int i = 0; i < PROGRAMS; i++) {
    printf("  %-20s interpreted %.2f, compiled ahead %.2f ns\n", programs[i].name,
           best[2 * i] / (double)count * 1e9, best[2 * i + 1] / (double)count * 1e9);
  }
  free(x);
  free(dy);
  free(y);
}

int main(int argc, char **argv) {
  static cvy_program_plan plans[PROGRAMS][2];
  const cvy_program_simd *set = set_named(argc > 1 ? argv[1] : "");
  int rounds = argc > 2 ? atoi(argv[2]) : 25;
  for (int i = 0; i < PROGRAMS; i++) prepare(&programs[i], set, plans[i]);
  cvy_denormals_flush();
  printf("%s\n", set->name);
  for (size_t i = 0; i < CVY_COUNT(maps); i++)
    measure(&maps[i], (const cvy_program_plan(*)[2])plans, rounds);
  return EXIT_SUCCESS;
}
