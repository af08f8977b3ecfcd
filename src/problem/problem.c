/* What is common to the problems of all operations. */
#include "problem/problem.h"

#include <string.h>

#include "problem/operation.h"

/* ------------------------------------------------------------------------------- plain data */

void cvy_problem_bare(const cvy_problem *problem, cvy_problem *out) {
  const cvy_family *family = cvy_family_of(problem);
  if (family->bare)
    family->bare(problem, out);
  else
    cvy_problem_copy(out, problem);
}

void cvy_problem_apart(const cvy_problem *problem, cvy_problem *out) {
  const cvy_family *family = cvy_family_of(problem);
  cvy_problem_copy(out, problem);
  if (family->set_apart) family->set_apart(out);
}

bool cvy_problem_same(const cvy_problem *a, const cvy_problem *b) {
  cvy_problem one, other;
  if (a->operation != b->operation) return false;
  cvy_problem_bare(a, &one);
  cvy_problem_bare(b, &other);
  one.accumulate = other.accumulate = 0;
  return cvy_problem_equal(&one, &other);
}

uint64_t cvy_problem_space_hash(const cvy_problem *problem, uint64_t seed) {
  const cvy_family *family = cvy_family_of(problem);
  return family->space_hash ? family->space_hash(problem, seed) : seed;
}

bool cvy_problem_legal(const cvy_problem *problem) {
  if (problem->operation < 0 || problem->operation >= cvy_operation_count) return false;
  return (problem->accumulate & ~1) == 0 && cvy_family_of(problem)->legal(problem);
}

/* ----------------------------------------------------------------------------------- arrays */

cvy_array cvy_problem_input(const cvy_problem *problem, int32_t i) {
  const cvy_operation *row = cvy_operation_of(problem);
  return i < cvy_problem_inputs(problem) ? row->input(problem, i) : row->output(problem, 0);
}

cvy_array cvy_problem_output(const cvy_problem *problem, int32_t i) {
  return cvy_operation_of(problem)->output(problem, i);
}

const char *cvy_problem_input_name(const cvy_problem *problem, int32_t i) {
  const cvy_operation *row = cvy_operation_of(problem);
  return i < cvy_problem_inputs(problem) ? row->input_names[i] : row->output_names[0];
}

const char *cvy_problem_output_name(const cvy_problem *problem, int32_t i) {
  return cvy_operation_of(problem)->output_names[i];
}

bool cvy_bytes_fit(const int64_t *extent, int32_t count) {
  int64_t bytes = sizeof(float);
  for (int32_t i = 0; i < count; i++)
    if (extent[i] > 1 && __builtin_mul_overflow(bytes, extent[i], &bytes)) return false;
  return true;
}

int64_t cvy_array_count(const cvy_array *array) {
  int64_t count = 1;
  for (size_t i = 0; i < CVY_COUNT(array->extent); i++) count *= array->extent[i];
  return count;
}

/* Elements of an image, as of all the array where it is the same for all images. */
static int64_t image_count(const cvy_array *array) {
  int64_t count = 1;
  for (size_t i = 1; i < CVY_COUNT(array->extent); i++) count *= array->extent[i];
  return count;
}

int64_t cvy_array_reach(const cvy_array *array) {
  return cvy_array_view_reach(&array->view, array->extent[0], image_count(array));
}

int64_t cvy_array_bytes(const cvy_array *array) {
  return cvy_array_reach(array) * cvy_dtype_bytes(array->dtype);
}

int64_t cvy_array_image(const cvy_array *array, int64_t image) {
  return image * cvy_array_view_pitch(&array->view, image_count(array));
}

int64_t cvy_array_place_in_part(const cvy_array *array, int64_t index) {
  return cvy_array_view_place(&array->view, image_count(array), index);
}

/* Bytes that lie side by side: of an image, or of all. */
static size_t dense_bytes(const cvy_array *array) {
  bool part = cvy_array_view_is_part(&array->view);
  return (size_t)((part ? image_count(array) : cvy_array_count(array)) *
                  cvy_dtype_bytes(array->dtype));
}

/* How often there are so many bytes, and from how many to how many. */
static int64_t dense_pieces(const cvy_array *array, size_t *pitch) {
  *pitch = (size_t)(cvy_array_image(array, 1) * cvy_dtype_bytes(array->dtype));
  return cvy_array_view_is_part(&array->view) ? array->extent[0] : 1;
}

void cvy_array_copy(const cvy_array *array, void *to, const void *from) {
  size_t pitch, bytes = dense_bytes(array);
  int64_t pieces = dense_pieces(array, &pitch);
  for (int64_t i = 0; i < pieces; i++)
    memcpy((char *)to + (size_t)i * pitch, (const char *)from + (size_t)i * pitch, bytes);
}

void cvy_array_zero(const cvy_array *array, void *to) {
  size_t pitch, bytes = dense_bytes(array);
  int64_t pieces = dense_pieces(array, &pitch);
  for (int64_t i = 0; i < pieces; i++) memset((char *)to + (size_t)i * pitch, 0, bytes);
}

int64_t cvy_problem_input_bytes(const cvy_problem *problem, int32_t i) {
  cvy_array array = cvy_problem_input(problem, i);
  return cvy_array_bytes(&array);
}

int64_t cvy_problem_output_bytes(const cvy_problem *problem, int32_t i) {
  cvy_array array = cvy_problem_output(problem, i);
  return cvy_array_bytes(&array);
}

bool cvy_problem_zeroes(const cvy_problem *problem, int32_t output) {
  bool keeps = problem->accumulate && output == 0;
  return !keeps && !cvy_problem_output(problem, output).per_image;
}

/* ---------------------------------------------------------------------- work and definition */

double cvy_problem_flops(const cvy_problem *problem) {
  return cvy_family_of(problem)->flops(problem);
}

/* Bytes of its elements. */
static double moved(cvy_array array) {
  return (double)cvy_array_count(&array) * (double)cvy_dtype_bytes(array.dtype);
}

double cvy_problem_bytes(const cvy_problem *problem) {
  int32_t reads = cvy_problem_reads(problem), outputs = cvy_problem_outputs(problem);
  double bytes = 0;
  for (int32_t i = 0; i < reads; i++) bytes += moved(cvy_problem_input(problem, i));
  for (int32_t i = 0; i < outputs; i++) bytes += moved(cvy_problem_output(problem, i));
  return bytes;
}

cvy_element cvy_problem_element(const cvy_problem *problem, const cvy_values *from, int32_t output,
                                int64_t index) {
  return cvy_family_of(problem)->element(problem, from, output, index);
}

int64_t cvy_problem_terms(const cvy_problem *problem) {
  return cvy_family_of(problem)->terms(problem);
}

double cvy_problem_bound(const cvy_problem *problem, double magnitude) {
  const cvy_operation *row = cvy_operation_of(problem);
  return row->bound ? row->bound(problem, magnitude) : 0.0;
}

double cvy_sum_bound(int64_t terms, double magnitude) {
  return 4.0 * ((double)terms + 2.0) * 0x1p-24 * magnitude;
}

void cvy_problem_itself(const cvy_problem *problem, cvy_problem *out) {
  cvy_problem_copy(out, problem);
}

/* ------------------------------------------------------------------------------------- text */

void cvy_problem_text(const cvy_problem *problem, char *text, size_t size) {
  cvy_family_of(problem)->print(problem, text, size);
}

/* Ends a part of a text that is too long. */
static void add_brief(cvy_text *out, const char *from, size_t length) {
  int most = (int)(length > CVY_BRIEF ? CVY_BRIEF : length);
  cvy_text_add(out, "%.*s%s", most, from, length > CVY_BRIEF ? "..." : "");
}

void cvy_problem_brief(const cvy_problem *problem, char *text, size_t size) {
  char whole[CONVOY_PROBLEM_TEXT];
  cvy_problem_text(problem, whole, sizeof whole);
  const char *on = strstr(whole, " on ");
  if (!on) {
    cvy_text_copy(text, size, whole);
    return;
  }
  cvy_text out = cvy_text_in(text, size);
  add_brief(&out, whole, (size_t)(on - whole));
  cvy_text_add(&out, " on ");
  add_brief(&out, on + 4, strlen(on + 4));
}

static const char added[] = ", added to what is there";

/* Cuts what says that the problem accumulates off its end. */
static bool cut_added(char *text) {
  size_t length = strlen(text), behind = sizeof added - 1;
  if (length < behind || strcmp(text + length - behind, added) != 0) return false;
  text[length - behind] = '\0';
  return true;
}

bool cvy_problem_read(const char *text, cvy_problem *out) {
  char line[CVY_EXAMPLE_TEXT];
  if (strlen(text) >= sizeof line) return false;
  cvy_text_copy(line, sizeof line, text);
  bool adds = cut_added(line);
  for (int32_t i = 0; i < cvy_operation_count; i++) {
    const cvy_family *family = cvy_operations[i]->family;
    bool is_known = i > 0 && cvy_operations[i - 1]->family == family;
    if (is_known || !family->parse || !family->parse(line, out)) continue;
    out->accumulate = adds;
    return !adds || cvy_problem_legal(out); /* not every operation can add */
  }
  return false;
}

void cvy_shape_class(const cvy_problem *problem, char *text, size_t size) {
  cvy_text out = cvy_text_in(text, size);
  cvy_family_of(problem)->shape_class(problem, &out);
}

int cvy_class_bucket(int64_t extent) {
  int log2 = 0;
  while (log2 < 62 && (INT64_C(1) << log2) < extent) log2++;
  return log2;
}

void cvy_class_example(const cvy_problem *problem, char *text, size_t size) {
  const cvy_family *family = cvy_family_of(problem);
  if (family->readable && !family->readable(problem)) {
    cvy_shape_class(problem, text, size);
    return;
  }
  family->print(problem, text, size);
  size_t used = strlen(text);
  const char *remark = problem->accumulate ? added : family->remark ? family->remark(problem) : "";
  cvy_text_copy(text + used, size - used, remark);
}

bool cvy_class_of_example(const char *text, char *shape_class, size_t size) {
  char again[CVY_EXAMPLE_TEXT];
  cvy_problem problem;
  if (!cvy_problem_read(text, &problem)) return false;
  cvy_class_example(&problem, again, sizeof again);
  if (strcmp(again, text) != 0) return false;
  cvy_shape_class(&problem, shape_class, size);
  return true;
}
