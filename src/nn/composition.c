/* Results of a composition are made under handles of its own, which the outputs take over at the
 * end: until then nothing has changed that a caller can see. */
#include "nn/composition.h"

#include <stdio.h>
#include <stdlib.h>

#include "api_apply.h"
#include "api_check.h"
#include "core/constants.h"
#include "core/contents.h"
#include "core/exec/run.h"
#include "core/graph/capture.h"

/* ---------------------------------------------------------------------------- begin and end */

static convoy_status check_capture(const convoy_context *context, const convoy_run *run) {
  if (!context->capture) return CONVOY_OK;
  convoy_status status = cvy_capture_check(context, "an operation");
  return status || !run ? status : cvy_capture_refuses(context, "run is not NULL");
}

convoy_status cvy_composition_begin(cvy_composition *c, convoy_context *context, convoy_run *run) {
  convoy_status status = cvy_check_struct("run", run, sizeof *run, true);
  if (!status) status = cvy_enter(context);
  if (status) return status;
  *c = (cvy_composition){.context = context, .run = run, .draws = context->draws};
  if (context->capture) {
    c->nodes = context->capture->graph->list.nodes;
    c->values = context->capture->graph->list.values;
  }
  c->status = check_capture(context, run);
  return CONVOY_OK;
}

/* What is foreign was written where it is. */
static bool is_handed_over(const cvy_own *own) {
  return own->becomes && own->becomes != own->tensor;
}

static void settle(cvy_composition *c) {
  for (int32_t i = 0; i < c->count && !c->status; i++)
    if (c->own[i].becomes) c->status = cvy_settle(c->own[i].tensor->store);
}

static void reserve(cvy_composition *c) {
  if (c->context->capture && !c->status)
    c->status = cvy_capture_reserve(c->context->capture, c->count);
}

static void hand_over(cvy_composition *c) {
  for (int32_t i = 0; i < c->count; i++) {
    const cvy_own *own = &c->own[i];
    if (!is_handed_over(own)) continue;
    if (c->context->capture)
      cvy_capture_hand_over(c->context->capture, own->tensor, own->becomes);
    else
      cvy_tensor_swap(own->becomes, cvy_store_keep(own->tensor->store));
  }
}

static void take_back(cvy_composition *c) {
  c->context->draws = c->draws;
  if (c->context->capture) cvy_capture_shorten(c->context->capture, c->nodes, c->values);
}

static void drop_own(cvy_composition *c) {
  for (int32_t i = 0; i < c->count; i++) {
    if (c->own[i].tensor != c->own[i].becomes) cvy_capture_freed(c->own[i].tensor);
    cvy_tensor_drop(c->own[i].tensor);
  }
  free(c->own);
}

convoy_status cvy_composition_end(cvy_composition *c) {
  reserve(c);
  if (c->run) settle(c);
  if (c->status)
    take_back(c);
  else
    hand_over(c);
  drop_own(c);
  if (c->run && !c->status) cvy_fill_run(c->context, c->run);
  return cvy_leave(c->context, c->status);
}

bool cvy_composition_check(cvy_composition *c, convoy_status status) {
  if (!c->status) c->status = status;
  return !c->status;
}

bool cvy_composition_fail(cvy_composition *c, convoy_status status, const char *format, ...) {
  char sentence[256];
  va_list args;
  if (c->status) return false;
  va_start(args, format);
  cvy_print(sentence, sizeof sentence, format, args);
  va_end(args);
  c->status = cvy_fail(status, "%s", sentence);
  return false;
}

bool cvy_compose_check_like(cvy_composition *c, const char *name, const convoy_tensor *tensor,
                            const convoy_tensor *like) {
  return cvy_composition_check(c, cvy_check_shape(name, tensor, like->dims, like->shape));
}

bool cvy_compose_check_number(cvy_composition *c, const char *name, const convoy_tensor *tensor) {
  if (tensor->count != 1)
    return cvy_composition_fail(c, CONVOY_ERR_SHAPE, "%s has %lld elements, not one", name,
                                (long long)tensor->count);
  return cvy_compose_check_like(c, name, tensor, tensor); /* its type */
}

/* ------------------------------------------------------------------------------------- tensors */

static cvy_own *add(cvy_composition *c) {
  if (c->count == c->room) {
    int32_t room = 2 * c->room + 8;
    cvy_own *grown = realloc(c->own, (size_t)room * sizeof *grown);
    if (!grown) {
      cvy_composition_fail(c, CONVOY_ERR_MEMORY, "no host memory for %d tensors", (int)room);
      return NULL;
    }
    c->own = grown;
    c->room = room;
  }
  c->own[c->count] = (cvy_own){NULL, NULL};
  return &c->own[c->count];
}

convoy_tensor *cvy_compose_new(cvy_composition *c, int32_t dims, const int64_t *shape) {
  cvy_own *own = c->status ? NULL : add(c);
  if (!own) return NULL;
  c->status = cvy_tensor_new(c->context, CONVOY_FLOAT32, dims, shape, &own->tensor);
  if (c->status) return NULL;
  c->count++;
  return own->tensor;
}

static bool is_output_already(const cvy_composition *c, const convoy_tensor *output) {
  for (int32_t i = 0; i < c->count; i++)
    if (c->own[i].becomes == output) return true;
  return false;
}

/* Results in foreign memory are written there, and so are never taken back. */
static convoy_tensor *itself(cvy_composition *c, convoy_tensor *output) {
  cvy_own *own = add(c);
  if (!own) return NULL;
  output->references++;
  *own = (cvy_own){output, output};
  c->count++;
  return output;
}

convoy_tensor *cvy_compose_output(cvy_composition *c, convoy_tensor *output) {
  if (c->status) return NULL;
  if (is_output_already(c, output)) {
    cvy_composition_fail(c, CONVOY_ERR_ARGUMENT, "two outputs are the same tensor");
    return NULL;
  }
  if (!cvy_composition_check(
          c, cvy_check_owners(c->context, (const convoy_tensor *const *)&output, 1)))
    return NULL;
  if (output->store->foreign) return itself(c, output);
  convoy_tensor *made = cvy_compose_new(c, output->dims, output->shape);
  if (made) c->own[c->count - 1].becomes = output;
  return made;
}

const convoy_tensor *cvy_compose_number(cvy_composition *c, double number) {
  convoy_tensor *tensor = NULL;
  if (!c->status) c->status = cvy_constant(c->context, (float)number, &tensor);
  return tensor;
}

void cvy_compose_detach(cvy_composition *c, const convoy_tensor *tensor) {
  if (!c->status && c->context->capture) cvy_capture_detach(c->context->capture, tensor);
}

/* --------------------------------------------------------------------------------------- views */

cvy_view cvy_view_of(const convoy_tensor *tensor) {
  if (!tensor) return (cvy_view){.tensor = NULL};
  return (cvy_view){tensor, cvy_tensor_shape(tensor)};
}

cvy_view cvy_view_as(const convoy_tensor *tensor, int64_t n, int64_t c, int64_t h, int64_t w) {
  return (cvy_view){tensor, {tensor ? tensor->dtype : CONVOY_FLOAT32, 4, {n, c, h, w, 1}}};
}

/* ------------------------------------------------------------------------------------ carrying out
 */

static convoy_status check_view(const char *name, const cvy_view *view) {
  int64_t count = 1;
  for (int32_t i = 0; i < view->shape.dims; i++) count *= view->shape.extent[i];
  if (count == view->tensor->count) return CONVOY_OK;
  return cvy_fail(CONVOY_ERR_SHAPE, "%s has %lld elements, not %lld", name,
                  (long long)view->tensor->count, (long long)count);
}

/* In the order of the program's names, which results come last in. */
static convoy_status check_operands(const cvy_composition *c, const convoy_program *program,
                                    const cvy_view *operands) {
  int32_t inputs = program->program.inputs;
  convoy_status status = CONVOY_OK;
  for (int32_t i = 0; i < inputs + cvy_program_results(program) && !status; i++) {
    const char *name = i < inputs ? program->names.input[i] : program->names.result[i - inputs];
    status = cvy_check_owners(c->context, &operands[i].tensor, 1);
    if (!status) status = check_view(name, &operands[i]);
  }
  return status;
}

void cvy_compose(cvy_composition *c, cvy_nn_program which, const cvy_view *operands) {
  const convoy_program *program = cvy_nn_program_of(which);
  int32_t inputs = program->program.inputs, results = cvy_program_results(program);
  const convoy_tensor *read[CVY_PROGRAM_INPUTS];
  convoy_tensor *made[CVY_PROGRAM_RESULTS];
  cvy_shape in[CVY_PROGRAM_INPUTS], out[CVY_PROGRAM_RESULTS];
  if (c->status) return;
  c->status = check_operands(c, program, operands);
  if (c->status) return;
  for (int32_t i = 0; i < inputs; i++) {
    read[i] = operands[i].tensor;
    in[i] = operands[i].shape;
  }
  for (int32_t k = 0; k < results; k++) {
    made[k] = (convoy_tensor *)(uintptr_t)operands[inputs + k].tensor;
    out[k] = operands[inputs + k].shape;
  }
  c->status = cvy_apply(c->context, program, read, in, made, out, NULL);
}
