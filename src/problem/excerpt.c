/* Excerpts of problems whose rows do not say better: one image, or all. */
#include "problem/excerpt.h"

#include <string.h>

#include "problem/operation.h"

int64_t cvy_excerpt_pick(uint64_t seed, int64_t what, int64_t count) {
  const int64_t words[] = {(int64_t)seed, what};
  return (int64_t)(cvy_hash(0, words, sizeof words) % (uint64_t)count);
}

/* Of a part of a larger tensor: its images without the gaps between them. */
static cvy_stretches of_part(const cvy_array *array, int64_t first, int64_t images) {
  int64_t width = cvy_dtype_bytes(array->dtype), pitch = cvy_array_image(array, 1) * width;
  int64_t bytes = cvy_array_count(array) / array->extent[0] * width;
  return (cvy_stretches){first * pitch, bytes, pitch, images};
}

static cvy_stretches of_image(const cvy_array *array, int64_t image, int64_t images) {
  int64_t bytes = cvy_array_bytes(array);
  if (cvy_array_view_is_part(&array->view)) return of_part(array, image, array->extent[0] / images);
  if (!array->per_image) return cvy_one_stretch(0, bytes);
  return cvy_one_stretch(image * (bytes / images), bytes / images);
}

static void take_image(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out) {
  bool apart = cvy_problem_batch(problem) == CVY_BATCH_INDEPENDENT;
  int64_t images = apart ? cvy_problem_images(problem) : 1;
  int64_t image = cvy_excerpt_pick(seed, 0, images);
  for (int32_t i = 0; i < cvy_problem_reads(problem); i++) {
    const cvy_array array = cvy_problem_input(problem, i);
    out->in[i] = of_image(&array, image, images);
  }
  for (int32_t i = 0; i < cvy_problem_outputs(problem); i++) {
    const cvy_array array = cvy_problem_output(problem, i);
    out->out[i] = of_image(&array, image, images);
  }
  if (images > 1) cvy_problem_set_images(&out->problem, 1);
}

void cvy_problem_excerpt(const cvy_problem *problem, uint64_t seed, cvy_excerpt *out) {
  const cvy_family *family = cvy_family_of(problem);
  memset(out, 0, sizeof *out);
  cvy_problem_apart(problem, &out->problem);
  if (family->excerpt && family->excerpt(problem, seed, out)) return;
  take_image(problem, seed, out);
}
