/* Makes and fills the operands of operations, carries them out, and judges the results. */
#include "common/operation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/family.h"
#include "ref/formula.h"

enum { DIMS = CONVOY_MAX_DIMS, BODY_BYTES = 16384 };

/* ----------------------------------------------------------------------------------- reading */

static int operands_of(const operation *what) {
  return what->inputs + what->results;
}

static size_t bytes_of(convoy_dtype dtype) {
  return dtype == CONVOY_UINT8 ? 1 : 4;
}

static convoy_status count_elements(operation *what) {
  for (int i = 0; i < operands_of(what); i++) {
    what->count[i] = 1;
    for (int axis = 0; axis < DIMS; axis++) what->count[i] *= what->shape[i][axis];
  }
  what->body = malloc(BODY_BYTES);
  return what->body ? CONVOY_OK : CONVOY_ERR_MEMORY;
}

static convoy_status complete(operation *what) {
  while (convoy_program_input(what->program, what->inputs)) what->inputs++;
  while (convoy_program_result(what->program, what->results)) what->results++;
  for (int i = 0; i < operands_of(what); i++) what->dims[i] = DIMS;
  convoy_status status = count_elements(what);
  return status ? status : convoy_program_text(what->program, what->body, BODY_BYTES);
}

/* ------------------------------------------------------------- families other than programs */

const char *operation_family(const char *text) {
  const family *found = family_of(text);
  return found ? found->plural : NULL;
}

static convoy_status read_other(const family *of, const char *text, operation *out) {
  *out = (operation){.text = text, .family = of, .results = 1};
  for (int i = 0; i < CONVOY_MAX_OPERANDS; i++)
    for (int axis = 0; axis < DIMS; axis++) out->shape[i][axis] = 1;
  convoy_status status = of->read(text, out);
  if (status == CONVOY_OK) status = count_elements(out);
  if (status == CONVOY_OK) snprintf(out->body, BODY_BYTES, "%s", text);
  return status;
}

/* ---------------------------------------------------------------------------------- programs */

/* The text of a program that is given by its name; else `text`. */
static convoy_status spell_out(const char *text, char *out, size_t size) {
  char name[64];
  size_t length = strcspn(text, " ");
  convoy_program *named = NULL;
  snprintf(out, size, "%s", text);
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  if (strncmp(text + length, " on ", 4) != 0) return CONVOY_OK;
  convoy_status status = convoy_program_named(name, &named);
  if (status == CONVOY_OK) status = convoy_program_text(named, out, size);
  size_t used = strlen(out);
  if (status == CONVOY_OK) snprintf(out + used, size - used, "%s", text + length);
  convoy_program_free(named);
  return status;
}

convoy_status operation_read(const char *text, operation *out) {
  const family *other = family_of(text);
  if (other) return read_other(other, text, out);
  char *whole = malloc(2 * BODY_BYTES);
  *out = (operation){.text = text};
  convoy_status status = whole ? spell_out(text, whole, 2 * (size_t)BODY_BYTES) : CONVOY_ERR_MEMORY;
  if (status == CONVOY_OK)
    status = convoy_parse_operation(whole, &out->program, out->dtype, out->shape);
  if (status == CONVOY_OK) status = complete(out);
  free(whole);
  if (status != CONVOY_OK) operation_free(out);
  return status;
}

static int find_input(const operation *in, const char *name) {
  for (int i = 0; i < in->inputs; i++)
    if (strcmp(convoy_program_input(in->program, i), name) == 0) return i;
  return -1;
}

static int find_result(const operation *in, const char *name) {
  for (int k = 0; k < in->results; k++)
    if (strcmp(convoy_program_result(in->program, k), name) == 0) return in->inputs + k;
  return -1;
}

/* A gradient's operand is one of the program's, by name, or the gradient of one. */
static int origin_of(const operation *from, const char *name, bool is_input) {
  int known = is_input ? find_input(from, name) : -1;
  if (known >= 0 || strncmp(name, "d_", 2) != 0) return known;
  return is_input ? find_result(from, name + 2) : find_input(from, name + 2);
}

static void take_shapes(const operation *from, operation *out) {
  int at = 0;
  const char *name;
  for (int i = 0; (name = convoy_program_input(out->program, i)); i++, at++) {
    int origin = origin_of(from, name, true);
    out->dtype[at] = from->dtype[origin];
    memcpy(out->shape[at], from->shape[origin], sizeof out->shape[at]);
  }
  for (int k = 0; convoy_program_result(out->program, k); k++, at++) {
    for (int i = 0; i < operands_of(from); i++) {
      for (int axis = 0; axis < DIMS; axis++)
        if (from->shape[i][axis] != 1) out->shape[at][axis] = from->shape[i][axis];
    }
  }
}

convoy_status operation_read_gradient(const char *text, operation *out) {
  operation from;
  *out = (operation){.text = text};
  if (family_of(text)) return CONVOY_ERR_UNSUPPORTED;
  convoy_status status = operation_read(text, &from);
  if (status != CONVOY_OK) return status;
  for (int i = 0; i < CONVOY_MAX_OPERANDS; i++)
    for (int axis = 0; axis < DIMS; axis++) out->shape[i][axis] = 1;
  status = convoy_program_gradient(from.program, NULL, &out->program);
  if (status == CONVOY_OK) take_shapes(&from, out);
  if (status == CONVOY_OK) status = complete(out);
  operation_free(&from);
  if (status != CONVOY_OK) operation_free(out);
  return status;
}

void operation_free(operation *what) {
  for (int i = 0; i < CONVOY_MAX_OPERANDS; i++) {
    free(what->host[i]);
    free(what->wanted[i]);
  }
  free(what->body);
  convoy_program_free(what->program);
  *what = (operation){.text = NULL};
}

double operation_bytes(const operation *what) {
  double bytes = 0.0;
  for (int i = 0; i < operands_of(what); i++)
    bytes += (double)what->count[i] * (double)bytes_of(what->dtype[i]);
  return bytes;
}

double operation_flops(const operation *what) {
  return what->family ? what->family->flops(what) : NAN;
}

/* -------------------------------------------------------------------------------------- data */

static void fill_array(operation *what, int i, fill *value, float offset) {
  uint64_t seed = (uint64_t)(i + 1) << 34;
  for (int64_t k = 0; k < what->count[i]; k++) {
    uint64_t number = seed + (uint64_t)k;
    if (what->dtype[i] == CONVOY_FLOAT32) ((float *)what->host[i])[k] = value(number) + offset;
    if (what->dtype[i] == CONVOY_INT32)
      ((int32_t *)what->host[i])[k] = (int32_t)fill_integer(number);
    if (what->dtype[i] == CONVOY_UINT8) ((uint8_t *)what->host[i])[k] = fill_integer(number) > 0.0f;
  }
}

bool operation_fill(operation *what, fill *value, float offset) {
  for (int i = 0; i < operands_of(what); i++) {
    size_t bytes = (size_t)what->count[i] * bytes_of(what->dtype[i]);
    what->host[i] = malloc(bytes ? bytes : 1);
    if (!what->host[i]) return false;
    if (i < what->inputs) fill_array(what, i, value, offset);
  }
  return true;
}

convoy_status operation_give(const operation *what, convoy_tensor *const *tensors) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < what->inputs && status == CONVOY_OK; i++)
    status = convoy_tensor_write(tensors[i], what->host[i], what->count[i]);
  return status;
}

convoy_status operation_tensors(convoy_context *context, const operation *what,
                                convoy_tensor **tensors) {
  convoy_status status = CONVOY_OK;
  for (int i = 0; i < operands_of(what); i++) tensors[i] = NULL;
  for (int i = 0; i < operands_of(what) && status == CONVOY_OK; i++) {
    status = convoy_tensor_new_typed(context, what->dtype[i], what->dims[i], what->shape[i],
                                     &tensors[i]);
  }
  if (status == CONVOY_OK) status = operation_give(what, tensors);
  if (status != CONVOY_OK) operation_drop(what, tensors);
  return status;
}

void operation_drop(const operation *what, convoy_tensor **tensors) {
  for (int i = 0; i < operands_of(what); i++) {
    convoy_tensor_free(tensors[i]);
    tensors[i] = NULL;
  }
}

convoy_status operation_apply(convoy_context *context, const operation *what,
                              convoy_tensor *const *tensors, convoy_run *run) {
  const convoy_tensor *in[CONVOY_MAX_OPERANDS] = {NULL};
  if (what->family) return what->family->apply(context, what, tensors, run);
  for (int i = 0; i < what->inputs; i++) in[i] = tensors[i];
  return convoy_apply(context, what->program, in, tensors + what->inputs, run);
}

convoy_status operation_fetch(operation *what, convoy_tensor *const *tensors) {
  convoy_status status = CONVOY_OK;
  for (int i = what->inputs; i < operands_of(what) && status == CONVOY_OK; i++) {
    float *values = what->host[i];
    for (int64_t k = 0; k < what->count[i]; k++) values[k] = NAN;
    status = convoy_tensor_read(tensors[i], values, what->count[i]);
  }
  return status;
}

convoy_status operation_expect(operation *what, convoy_context *cpu) {
  convoy_tensor *tensors[CONVOY_MAX_OPERANDS];
  convoy_status status = convoy_seed(cpu, 0);
  if (status == CONVOY_OK) status = operation_tensors(cpu, what, tensors);
  if (status != CONVOY_OK) return status;
  status = operation_apply(cpu, what, tensors, NULL);
  if (status == CONVOY_OK) status = operation_fetch(what, tensors);
  operation_drop(what, tensors);
  for (int i = what->inputs; i < operands_of(what) && status == CONVOY_OK; i++) {
    size_t bytes = (size_t)what->count[i] * sizeof(float);
    if (!what->wanted[i]) what->wanted[i] = malloc(bytes ? bytes : 1);
    if (!what->wanted[i]) return CONVOY_ERR_MEMORY;
    memcpy(what->wanted[i], what->host[i], bytes);
  }
  return status;
}

/* ----------------------------------------------------------------------------------- judging */

/* Keeps the worst of them; a NaN is. */
static void note(verdict *out, int64_t index, double got, double expected, double bound) {
  double error = fabs(got - expected);
  bool same = got == expected || (isnan(got) && isnan(expected));
  if (same) error = 0.0;
  bool wrong = !same && !(error <= bound);
  out->wrong += wrong;
  if (bound > 0.0 && !isinf(bound) && !(error / bound <= out->share)) out->share = error / bound;
  if (out->index >= 0 && !(error > out->error) && !(wrong && out->wrong == 1)) return;
  out->error = error;
  out->index = index;
  out->got = got;
  out->expected = expected;
}

verdict operation_compare_exactly(const operation *what) {
  verdict out = {.index = -1};
  for (int i = what->inputs; i < operands_of(what) && what->program; i++) {
    const float *got = what->host[i], *wanted = what->wanted[i];
    for (int64_t k = 0; k < what->count[i]; k++)
      note(&out, k, (double)got[k], (double)wanted[k], 0.0);
  }
  return out;
}

static double value_at(const operation *what, int i, int64_t index) {
  if (what->dtype[i] == CONVOY_INT32) return (double)(float)((int32_t *)what->host[i])[index];
  if (what->dtype[i] == CONVOY_UINT8) return (double)((uint8_t *)what->host[i])[index];
  return (double)((float *)what->host[i])[index];
}

static void find_values(const operation *what, ref_place *at) {
  at->inputs = what->inputs;
  for (int i = 0; i < what->inputs; i++) {
    int64_t index = 0;
    for (int axis = 0; axis < DIMS; axis++) {
      int64_t extent = what->shape[i][axis];
      index = index * extent + (extent == 1 ? 0 : at->axis[axis]);
    }
    at->name[i] = convoy_program_input(what->program, i);
    at->value[i] = value_at(what, i, index);
  }
}

/* The extents that the program goes over. */
static void find_space(const operation *what, int64_t *space) {
  for (int axis = 0; axis < DIMS; axis++) {
    space[axis] = what->shape[what->inputs][axis];
    for (int i = 0; i < what->inputs; i++)
      if (what->shape[i][axis] != 1) space[axis] = what->shape[i][axis];
  }
}

static void find_place(const int64_t *extent, int64_t index, int64_t *axis) {
  for (int i = DIMS - 1; i >= 0; i--) {
    axis[i] = index % extent[i];
    index /= extent[i];
  }
}

/* Of a reduction: over all places of the reduced axes. */
static bool reduce(const operation *what, int result, unsigned axes, ref_place *at,
                   ref_number *out) {
  int64_t space[DIMS], kept[DIMS], places = 1;
  ref_reduction all;
  ref_number one;
  find_space(what, space);
  memcpy(kept, at->axis, sizeof kept);
  for (int i = 0; i < DIMS; i++) {
    if (!(axes >> i & 1)) space[i] = 1;
    places *= space[i];
  }
  for (int64_t p = 0; p < places; p++) {
    find_place(space, p, at->axis);
    for (int i = 0; i < DIMS; i++)
      if (!(axes >> i & 1)) at->axis[i] = kept[i];
    find_values(what, at);
    if (!ref_formula(what->body, result, at, &one)) return false;
    if (p == 0 && !ref_reduction_begin(what->body, result, one.value, &all)) return false;
    ref_reduction_add(&all, one);
  }
  if (places == 0) return false;
  *out = ref_reduction_end(&all);
  return true;
}

/* Within the promise of convoy.h. */
static ref_number judged(const operation *what, int64_t index) {
  ref_value exact = what->family->element(what, index);
  double bound = 4.0 * (double)(exact.terms + 2) * 0x1p-24 * exact.magnitude;
  return (ref_number){.value = exact.value, .error = bound};
}

static bool evaluate(const operation *what, int result, int64_t index, ref_number *out) {
  if (what->family) {
    *out = judged(what, index);
    return true;
  }
  ref_place at = {.inputs = 0};
  unsigned axes = ref_formula_axes(what->body);
  find_place(what->shape[what->inputs + result], index, at.axis);
  if (axes) return reduce(what, result, axes, &at, out);
  find_values(what, &at);
  return ref_formula(what->body, result, &at, out);
}

/* That one element is computed from, about. */
static int64_t values_of_element(const operation *what, int i) {
  int64_t space[DIMS], all = 1;
  if (what->family) return what->family->terms(what);
  find_space(what, space);
  for (int axis = 0; axis < DIMS; axis++) all *= space[axis];
  return what->count[i] ? all / what->count[i] : 1;
}

/* How many of a result's elements, evenly spread, from the first to the last. */
static int64_t elements_for(const operation *what, int i, int64_t most) {
  int64_t each = values_of_element(what, i);
  int64_t count = most / what->results / (each ? each : 1);
  if (count < 1) count = 1;
  return count < what->count[i] ? count : what->count[i];
}

bool operation_compare_reference(const operation *what, int64_t most, verdict *result) {
  *result = (verdict){.index = -1};
  for (int k = 0; k < what->results; k++) {
    int i = what->inputs + k;
    int64_t elements = elements_for(what, i, most);
    for (int64_t e = 0; e < elements; e++) {
      int64_t index = elements > 1 ? e * (what->count[i] - 1) / (elements - 1) : 0;
      ref_number exact;
      if (!evaluate(what, k, index, &exact)) return false;
      note(result, index, value_at(what, i, index), exact.value, exact.error);
    }
  }
  return true;
}
