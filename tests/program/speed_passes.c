/* How long the CPU engine takes for batch norm with SiLU, both ways, over the maps of YOLOv8n: with
 * all threads, the best of some rounds, beside the copy of as many bytes. Run by hand on a quiet
 * machine:
 *
 *   speed_program_passes [BATCH [ROUNDS [THREADS]]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/now.h"
#include "cpu/program/reduce.h"
#include "cpu/threads/denormals.h"
#include "program/passes.h"

static float *arrays[TEST_ARRAYS];

static void *memory_of(int64_t bytes) {
  void *memory = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
  if (!memory) exit(EXIT_FAILURE);
  return memory;
}

static void fill_arrays(int batch) {
  for (int a = 0; a < TEST_ARRAYS; a++) {
    int64_t count = test_array_count((test_array)a, batch);
    arrays[a] = memory_of(count * 4);
    for (int64_t i = 0; i < count; i++) arrays[a][i] = (float)(i * 7919 % 1009) / 512.0f + 0.01f;
  }
}

static void run_pass(const test_pass *pass, cvy_threads *threads, void *workspace) {
  cvy_program_call call = {.problem = &pass->program};
  cvy_reduce_call reduce = {.problem = &pass->reduction};
  for (int i = 0; i < pass->inputs; i++) call.in[i] = reduce.in[i] = arrays[pass->operand[i]];
  for (int k = 0; k < pass->results; k++)
    call.out[k] = reduce.out[k] = arrays[pass->operand[pass->inputs + k]];
  call.threads = reduce.threads = threads;
  call.simd = reduce.simd = cvy_program_simd_best();
  call.workspace = reduce.workspace = workspace;
  if (pass->reduces)
    cvy_reduce_arrays(&reduce);
  else
    cvy_program_apply_arrays(&call);
}

static double best_of(const test_pass *pass, int rounds, cvy_threads *threads) {
  int32_t count = cvy_threads_count(threads);
  int64_t bytes = pass->reduces ? cvy_reduce_arrays_workspace(&pass->reduction, count)
                                : cvy_program_apply_workspace(&pass->program, count);
  void *workspace = memory_of(bytes);
  double best = 1e9;
  for (int round = 0; round < rounds; round++) {
    double start = test_now();
    run_pass(pass, threads, workspace);
    double took = test_now() - start;
    if (took < best) best = took;
  }
  free(workspace);
  return best;
}

static void copy_part(void *arg, int64_t begin, int64_t end, int32_t slot) {
  (void)arg;
  (void)slot;
  memcpy(arrays[TEST_Y] + begin, arrays[TEST_X] + begin, (size_t)(end - begin) * sizeof(float));
}

static double best_copy(int64_t count, int rounds, cvy_threads *threads) {
  double best = 1e9;
  for (int round = 0; round < rounds; round++) {
    double start = test_now();
    cvy_parallel_for(threads, count, copy_part, NULL);
    double took = test_now() - start;
    if (took < best) best = took;
  }
  return best;
}

int main(int argc, char **argv) {
  int batch = argc > 1 ? atoi(argv[1]) : 4, rounds = argc > 2 ? atoi(argv[2]) : 9;
  double total[TEST_PASSES] = {0}, bytes[TEST_PASSES] = {0};
  cvy_threads *threads;
  if (cvy_threads_open(argc > 3 ? atoi(argv[3]) : 0, &threads)) return EXIT_FAILURE;
  fill_arrays(batch);
  cvy_denormals_flush();
  printf("%s, %d threads, batch %d; milliseconds (GB/s)\n", cvy_program_simd_best()->name,
         (int)cvy_threads_count(threads), batch);
  for (int m = 0; m < TEST_MAPS; m++) {
    const test_map *map = &test_maps[m];
    int64_t count = (int64_t)batch * map->channels * map->size * map->size;
    double copied = best_copy(count, rounds, threads);
    printf("%3d x %3d^2  copy %.3f (%.0f)", map->channels, map->size, copied * 1e3,
           (double)count * 8e-9 / copied);
    for (int p = 0; p < TEST_PASSES; p++) {
      test_pass pass;
      test_pass_of(map, batch, p, false, &pass);
      double took = best_of(&pass, rounds, threads);
      printf("  %s %.3f (%.0f)", test_pass_names[p], took * 1e3,
             test_pass_bytes(&pass) * 1e-9 / took);
      total[p] += map->times * took;
      bytes[p] += map->times * test_pass_bytes(&pass);
    }
    printf("\n");
  }
  printf("all maps:");
  for (int p = 0; p < TEST_PASSES; p++)
    printf("  %s %.1f (%.0f)", test_pass_names[p], total[p] * 1e3, bytes[p] * 1e-9 / total[p]);
  printf("\n");
  cvy_threads_close(threads);
  for (int a = 0; a < TEST_ARRAYS; a++) free(arrays[a]);
  return EXIT_SUCCESS;
}
