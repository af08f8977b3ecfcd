/* Public functions on copies and concatenations. */
#include "api_check.h"
#include "core/operation.h"
#include "problem/move/move.h"

/* What a function has besides its tensors. */
typedef struct move_call {
  const convoy_box *box;
  const int32_t *axes;
  const int64_t *begin, *step;
  float value;
} move_call;

/* Finds the box of a call; x's and y's extents have not been compared. */
typedef convoy_status find_box(const move_call *call, const cvy_shape *x, const cvy_shape *y,
                               convoy_box *box);

static convoy_status carry_out(convoy_context *context, find_box *find, const move_call *call,
                               const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  const convoy_tensor *const all[] = {x, y};
  convoy_box box;
  cvy_problem problem;
  convoy_status status = cvy_check_owners(context, all, CVY_COUNT(all));
  if (status) return status;
  const cvy_shape from = cvy_tensor_shape(x), to = cvy_tensor_shape(y);
  status = find(call, &from, &to, &box);
  if (!status) status = cvy_move_copy_make(&box, x->dtype, x->count, &problem);
  if (!status) status = cvy_check_operands(&problem, &x, &y);
  return status ? status : cvy_operate_tensors(context, &problem, &x, &y, run);
}

static convoy_status move(convoy_context *context, find_box *find, const move_call *call,
                          const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  const cvy_pointer given[] = {{"x", x}, {"y", y}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, carry_out(context, find, call, x, y, run));
}

/* ------------------------------------------------------------------------------------- boxes */

static convoy_status as_given(const move_call *call, const cvy_shape *x, const cvy_shape *y,
                              convoy_box *box) {
  (void)x, (void)y;
  *box = *call->box;
  return CONVOY_OK;
}

static convoy_status permuted(const move_call *call, const cvy_shape *x, const cvy_shape *y,
                              convoy_box *box) {
  convoy_status status = cvy_move_permute(x, call->axes, box);
  return status ? status : cvy_move_check_extents("permute", box, y);
}

static convoy_status sliced(const move_call *call, const cvy_shape *x, const cvy_shape *y,
                            convoy_box *box) {
  return cvy_move_slice(x, y, call->begin, call->step, box);
}

static convoy_status padded(const move_call *call, const cvy_shape *x, const cvy_shape *y,
                            convoy_box *box) {
  return cvy_move_pad(x, y, call->begin, call->value, box);
}

/* --------------------------------------------------------------------------------- functions */

convoy_status convoy_copy(convoy_context *context, const convoy_box *box, const convoy_tensor *x,
                          convoy_tensor *y, convoy_run *run) {
  convoy_status status = cvy_check_struct("box", box, sizeof *box, false);
  return status ? status : move(context, as_given, &(move_call){.box = box}, x, y, run);
}

convoy_status convoy_permute(convoy_context *context, const int32_t *axes, const convoy_tensor *x,
                             convoy_tensor *y, convoy_run *run) {
  const cvy_pointer given[] = {{"axes", axes}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  return status ? status : move(context, permuted, &(move_call){.axes = axes}, x, y, run);
}

convoy_status convoy_slice(convoy_context *context, const int64_t *begin, const int64_t *step,
                           const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  const cvy_pointer given[] = {{"begin", begin}, {"step", step}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  const move_call call = {.begin = begin, .step = step};
  return status ? status : move(context, sliced, &call, x, y, run);
}

convoy_status convoy_pad(convoy_context *context, convoy_padding mode, const int64_t *begin,
                         float value, const convoy_tensor *x, convoy_tensor *y, convoy_run *run) {
  const cvy_pointer given[] = {{"begin", begin}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status && mode != CONVOY_PAD_CONSTANT)
    status = cvy_fail(CONVOY_ERR_ARGUMENT, "pad: mode is %d, legal is 0", (int)mode);
  const move_call call = {.begin = begin, .value = value};
  return status ? status : move(context, padded, &call, x, y, run);
}

convoy_status convoy_parse_copy(const char *text, convoy_box *box, convoy_dtype *dtype,
                                int64_t *elements) {
  const cvy_pointer given[] = {
      {"text", text}, {"box", box}, {"dtype", dtype}, {"elements", elements}};
  convoy_box read;
  convoy_dtype type;
  int64_t count;
  cvy_problem problem;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_move_copy_read(text, &read, &type, &count);
  if (!status) status = cvy_move_copy_take(&read, type, count, &problem);
  if (status) return status;
  *box = read;
  *dtype = type;
  *elements = count;
  return CONVOY_OK;
}

/* ----------------------------------------------------------------------------- concatenations */

static convoy_status check_inputs(int32_t count, const convoy_tensor *const inputs[]) {
  for (int32_t i = 0; i < count && i < CVY_MOVE_PARTS; i++)
    if (!inputs[i]) return cvy_fail(CONVOY_ERR_ARGUMENT, "input %d is NULL", (int)i);
  return CONVOY_OK;
}

static convoy_status concatenate(convoy_context *context, int32_t axis, int32_t count,
                                 const convoy_tensor *const inputs[], convoy_tensor *y,
                                 convoy_run *run) {
  int32_t most = count < CVY_MOVE_PARTS ? count : CVY_MOVE_PARTS;
  const convoy_tensor *const to[] = {y};
  cvy_shape shapes[CVY_MOVE_PARTS];
  cvy_problem problem;
  convoy_status status = cvy_check_owners(context, inputs, most);
  if (!status) status = cvy_check_owners(context, to, 1);
  if (status) return status;
  for (int32_t i = 0; i < most; i++) shapes[i] = cvy_tensor_shape(inputs[i]);
  const cvy_shape shape = cvy_tensor_shape(y);
  status = cvy_move_concatenate_make(axis, count, shapes, &shape, &problem);
  if (!status) status = cvy_check_operands(&problem, inputs, &y);
  return status ? status : cvy_operate_tensors(context, &problem, inputs, &y, run);
}

convoy_status convoy_concatenate(convoy_context *context, int32_t axis, int32_t count,
                                 const convoy_tensor *const inputs[], convoy_tensor *y,
                                 convoy_run *run) {
  const cvy_pointer given[] = {{"inputs", inputs}, {"y", y}};
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = check_inputs(count, inputs);
  if (!status) status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  return cvy_leave(context, concatenate(context, axis, count, inputs, y, run));
}

convoy_status convoy_parse_concatenate(const char *text, int32_t *count, convoy_dtype *dtypes,
                                       int64_t shapes[][CONVOY_MAX_DIMS]) {
  const cvy_pointer given[] = {
      {"text", text}, {"count", count}, {"dtypes", dtypes}, {"shapes", shapes}};
  cvy_problem problem;
  convoy_status status = cvy_check_pointers(given, CVY_COUNT(given));
  if (!status) status = cvy_move_concatenate_read(text, &problem);
  if (status) return status;
  const cvy_move_concatenate *p = &problem.move.concatenate;
  *count = p->parts;
  for (int32_t i = 0; i < p->parts; i++) {
    const int64_t extents[CONVOY_MAX_DIMS] = {p->images, p->width[i], 1, 1, 1};
    dtypes[i] = (convoy_dtype)p->dtype[i];
    for (int32_t axis = 0; axis < CONVOY_MAX_DIMS; axis++) shapes[i][axis] = extents[axis];
  }
  return CONVOY_OK;
}
