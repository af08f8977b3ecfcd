/* A job for the CPU engine with its arrays, and the engine to give it to. */
#ifndef TEST_CPU_WORK_H
#define TEST_CPU_WORK_H

#include "common/array.h"
#include "common/commands.h"
#include "common/random.h"

#define WORKSPACE (INT64_C(64) << 20)

extern const char *const cpu_directions[CONVOY_DIRECTIONS];

typedef void cpu_fill(test_random *random, float *values, int64_t count);

typedef struct cpu_work {
  cvy_job job;
  test_array a, b, out;
} cpu_work;

cvy_device *cpu_open(int32_t threads, int64_t limit);

cpu_work cpu_work_new(const char *shape, int direction, float beta, cpu_fill *fill);
void cpu_work_free(cpu_work *work);

/* Chooses row `row` for the work. False if it refuses. */
bool cpu_choose(const cvy_device *device, cpu_work *work, int row);
/* Chooses a row by its name. */
bool cpu_choose_named(const cvy_device *device, cpu_work *work, const char *name);

/* `most`, or 1 where OpenBLAS is a build that cpu.im2col cannot call from several threads. */
int32_t cpu_blas_threads(int32_t most);

/* Runs the work into an output filled with NaN. */
convoy_status cpu_run(cvy_device *device, cpu_work *work);

/* Whether `name` and cpu.direct give the same values for some problems of integers, in all
 * directions the row has. Says on stderr what differs. Children use it, too, so it asserts
 * nothing. */
bool cpu_row_is_right(cvy_device *device, const char *name);

#endif
