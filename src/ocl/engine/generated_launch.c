/* From the block of a generator, and a job's arrays, to the arguments of a launch. */
#include "ocl/engine/generated_launch.h"

#include "ocl/engine/device.h"

static int64_t element_at(span at, convoy_dtype dtype) {
  return at.at * (int64_t)sizeof(float) / cvy_dtype_bytes(dtype);
}

void generated_offsets(const cvy_problem *problem, const job_arrays *given, int64_t *offsets) {
  for (int32_t i = 0; i < cvy_problem_inputs(problem); i++)
    *offsets++ = element_at(given->in[i], cvy_problem_input(problem, i).dtype);
  for (int32_t k = 0; k < cvy_problem_outputs(problem); k++) *offsets++ = given->out[k].at;
  *offsets = given->scratch.at;
}

/* With narrow words the array's last element must have a number that fits them. */
static launch_array array_of(span at, const cvy_kernel_block *block, int32_t number,
                             convoy_dtype dtype, int64_t count) {
  static const int32_t shifts[CONVOY_DTYPES] = {
      [CONVOY_FLOAT32] = 2, [CONVOY_INT32] = 2, [CONVOY_UINT8] = 0};
  int32_t shift = shifts[dtype];
  int64_t most = (UINT32_MAX - count) * (1 << shift) / (int64_t)sizeof(float);
  return (launch_array){at, block->offset[number], shift,
                        block->word_bytes == 8 ? INT64_MAX : most};
}

void generated_arrays_of(const cvy_problem *problem, const job_arrays *given,
                         const cvy_kernel_block *block, int64_t partial, generated_arrays *out) {
  int32_t inputs = cvy_problem_inputs(problem), results = cvy_problem_outputs(problem);
  out->count = 0;
  for (int32_t i = 0; i < inputs; i++) {
    cvy_array array = cvy_problem_input(problem, i);
    out->array[out->count++] =
        array_of(given->in[i], block, i, array.dtype, cvy_array_reach(&array));
  }
  if (partial) {
    out->array[out->count++] =
        array_of(given->scratch, block, inputs + results, CONVOY_FLOAT32, partial);
  }
  out->results = out->count;
  for (int32_t k = 0; k < results; k++) {
    cvy_array array = cvy_problem_output(problem, k);
    out->array[out->count++] =
        array_of(given->out[k], block, inputs + k, array.dtype, cvy_array_reach(&array));
  }
}

convoy_status generated_launch(cvy_device *device, const launch *what,
                               const cvy_kernel_block *block, const generated_arrays *arrays,
                               int32_t first, int32_t end) {
  uint64_t words[CVY_BLOCK_WORDS];
  launch sized = *what;
  cvy_block_bytes(block, words);
  sized.wide = block->word_bytes == 8;
  arguments with = {.block = words,
                    .words = block->words,
                    .first_group = CVY_BLOCK_FIRST_GROUP,
                    .stream = block->stream,
                    .count = end - first,
                    .array = arrays->array + first};
  return launch_kernel(device, &sized, &with);
}

double generated_work(const cvy_problem *problem) {
  return cvy_problem_flops(problem) +
         MOVED_WORK * cvy_problem_bytes(problem) / (double)sizeof(float);
}
