/* The shape class of a program or reduction, such as "program_0123456789abcdef_3v_fcc":
 *   a hash of the program and of what is reduced how; the loops that its kernels have, and v if
 *   the innermost goes by vectors of four, else s; for a reduction lanes (L) or results side by
 *   side (S), and p where there are several pieces; a letter for each input's class, in upper case
 *   for int32 and with an 8 behind it for uint8; s for each result whose images have gaps between
 *   them, else f, if there are any.
 * Extents are left out: kernels get them as arguments. */

#include "problem/program/program.h"

static const char class_letters[] = {
    [CVY_CLASS_FULL] = 'f',     [CVY_CLASS_IMAGE_CHANNEL] = 'n', [CVY_CLASS_CHANNEL] = 'c',
    [CVY_CLASS_POSITION] = 'p', [CVY_CLASS_ONE] = 'o',           [CVY_CLASS_STRIDED] = 's',
};

/* Of what is used, for classes are asked for with every operation. */
uint64_t cvy_program_hash(const cvy_problem *problem) {
  const cvy_program *program = &cvy_program_part(problem)->program;
  uint64_t hash = cvy_hash(0, program, offsetof(cvy_program, code));
  hash = cvy_hash(hash, program->code, program->instructions * sizeof *program->code);
  hash = cvy_hash(hash, program->constant, program->constants * sizeof *program->constant);
  if (problem->operation != CVY_REDUCE) return hash;
  return cvy_hash(hash, &problem->reduce.how, sizeof problem->reduce.how);
}

static void add_loops(const cvy_program_problem *of, int results, uint32_t last, cvy_text *text) {
  cvy_program_problem full = *of;
  cvy_program_nest nest;
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++)
    if (full.extent[axis] == 0) full.extent[axis] = 1;
  cvy_program_nest_of(&full, results, last, &nest);
  bool vectors = nest.extent[nest.axes - 1] % 4 == 0;
  cvy_text_add(text, "_%d%c", (int)nest.axes, vectors ? 'v' : 's');
}

static void add_order(const cvy_reduce_problem *reduce, cvy_text *text) {
  cvy_reduce_order order = cvy_reduce_order_of(reduce);
  bool lanes = order.lanes > 1;
  uint32_t axes = reduce->how.axes;
  add_loops(&reduce->of, reduce->how.results, lanes ? axes : ~axes, text);
  cvy_text_add(text, "%c%s", lanes ? 'L' : 'S', order.pieces > 1 ? "p" : "");
}

static void add_input(const cvy_program_view *view, const int64_t *extent, cvy_text *text) {
  char letter = class_letters[cvy_program_class_of(view, extent)];
  if (view->type == CONVOY_INT32) letter = cvy_upper(letter);
  cvy_text_add(text, "%c%s", letter, view->type == CONVOY_UINT8 ? "8" : "");
}

static void add_results(const cvy_problem *problem, cvy_text *text) {
  char letters[CVY_PROGRAM_RESULTS + 1] = "";
  bool gaps = false;
  for (int k = 0; k < cvy_problem_outputs(problem); k++) {
    const cvy_array array = cvy_problem_output(problem, k);
    bool part = cvy_array_view_is_part(&array.view);
    letters[k] = class_letters[part ? CVY_CLASS_STRIDED : CVY_CLASS_FULL];
    gaps |= part;
  }
  if (gaps) cvy_text_add(text, "_%s", letters);
}

void cvy_program_shape_class(const cvy_problem *problem, cvy_text *text) {
  const cvy_program_problem *of = cvy_program_part(problem);
  cvy_text_add(text, "%s_%016llx", cvy_operation_of(problem)->name,
               (unsigned long long)cvy_program_hash(problem));
  if (problem->operation == CVY_REDUCE)
    add_order(&problem->reduce, text);
  else
    add_loops(of, of->program.results, 0, text);
  cvy_text_add(text, "_");
  for (int i = 0; i < of->program.inputs; i++) add_input(&of->input[i], of->extent, text);
  add_results(problem, text);
}
