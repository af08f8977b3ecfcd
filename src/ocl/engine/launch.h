/* A kernel into the queue, with an argument block and arrays. */
#ifndef CVY_OCL_ENGINE_LAUNCH_H
#define CVY_OCL_ENGINE_LAUNCH_H

#include <string.h>

#include "ocl/engine/bindings.h"
#include "ocl/engine/programs.h"

typedef struct launch {
  const program_source *source;
  const char *options;
  const char *kernel;
  bool wide; /* words of the argument block have 8 bytes, else 4 */
  int64_t work_groups, items;
  double work; /* floating-point operations of the whole launch, or what takes as long */
} launch;

/* What moving one element takes, in operations of a slow card: memory is what it waits for. */
#define MOVED_WORK 32.0

/* The most arrays of a launch: those of a job, and scratch memory. */
enum { LAUNCH_ARRAYS = CVY_MAX_INPUTS + CVY_MAX_OUTPUTS + 1 };
/* No word of the argument block. */
enum { NO_WORD = -1 };

/* An array of a launch, and the word of the argument block that says where the array begins in its
 * memory, in units of 1 << shift bytes. Where these are larger than a float, the word behind it has
 * the floats that are left. An absent one has memory NULL. */
typedef struct launch_array {
  span at;
  int32_t word, shift;
  int64_t most_at; /* the last `at` that the word serves for */
} launch_array;

/* What a kernel is given: the argument block, then the arrays in their order. The block's words
 * about arrays and parts are filled in at launch. The last array is written, and is there. */
typedef struct arguments {
  void *block;
  int32_t words;
  int32_t first_group; /* the word with the work-groups that earlier parts of the launch have done:
                          a runtime's own offset is not every runtime's */
  int32_t stream;      /* the first of the words that random() takes, or NO_WORD */
  int32_t count;
  const launch_array *array;
} arguments;

/* Enqueues one kernel. A launch that would take long on this device becomes several: nothing can
 * stop a kernel, and a desktop on the same card stands still meanwhile. */
convoy_status launch_kernel(cvy_device *device, const launch *what, const arguments *with);
/* Enqueues a kernel that was found already. */
convoy_status launch_found(cvy_device *device, const launch *what, program_kernel *kernel,
                           const arguments *with);

/* Writes a word of an argument block. */
static inline void block_put(void *block, bool wide, int32_t word, int64_t value) {
  const int32_t narrow = (int32_t)(uint32_t)(uint64_t)value;
  const size_t bytes = wide ? sizeof value : sizeof narrow;
  memcpy((char *)block + (size_t)word * bytes, wide ? (const void *)&value : &narrow, bytes);
}

#endif
