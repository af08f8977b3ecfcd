/* Text of kernels over nests. */
#include "ocl/nest_source.h"

#include <stdio.h>

static bool is_placed(const cvy_program_problem *problem) {
  cvy_program_uses uses = cvy_program_uses_of(&problem->program);
  return uses.axes || uses.random;
}

/* ------------------------------------------------------------------------------ width and words */

/* Whether a vector of four elements that begins at a multiple of four along the innermost loop is
 * one number or aligned. */
static bool takes_four(const cvy_program_nest *nest, const int64_t *stride, int64_t offset) {
  int inner = nest->axes - 1;
  if (stride[inner] == 0) return true;
  if (stride[inner] != 1 || offset % 4) return false;
  for (int loop = 0; loop < inner; loop++)
    if (stride[loop] % 4) return false;
  return true;
}

int32_t cvy_nest_width(const cvy_program_problem *problem, const cvy_program_nest *nest,
                       int results, const int64_t *offsets) {
  int inputs = problem->program.inputs;
  bool four = nest->extent[nest->axes - 1] % 4 == 0;
  for (int i = 0; i < inputs; i++) four &= takes_four(nest, nest->input[i], offsets[i]);
  for (int k = 0; k < results; k++) four &= takes_four(nest, nest->result[k], offsets[inputs + k]);
  return four ? 4 : 1;
}

int32_t cvy_nest_word_bytes(const cvy_program_problem *problem, const cvy_program_nest *nest,
                            int results, const int64_t *offsets) {
  /* Items are counted in whole work-groups, which may be somewhat more than elements. */
  int64_t most = nest->count + (1 << 20);
  for (int i = 0; i < problem->program.inputs + results; i++) {
    const cvy_program_view *view = i < problem->program.inputs
                                       ? &problem->input[i]
                                       : &problem->result[i - problem->program.inputs];
    int64_t end = offsets[i] + cvy_program_reach(view, problem->extent);
    if (end > most) most = end;
  }
  return most <= UINT32_MAX ? 4 : 8;
}

/* ------------------------------------------------------------------------------------ arguments */

static bool has_argument(const int64_t *strides, int loop, int innermost) {
  return strides[loop] != 0 && !(loop == innermost && strides[loop] == 1);
}

static void add_strides(cvy_kernel_block *block, cvy_text *source, const cvy_program_nest *nest,
                        const char *name, int number, const int64_t *strides) {
  for (int loop = 0; loop < nest->axes; loop++) {
    if (has_argument(strides, loop, nest->axes - 1))
      cvy_block_add(block, source, strides[loop], "%s%d_%d", name, number, loop);
  }
}

void cvy_nest_add_operands(cvy_kernel_block *block, cvy_text *source, int inputs, int results,
                           const cvy_program_nest *nest, const int64_t *offsets) {
  for (int i = 0; i < inputs + results; i++) {
    bool is_input = i < inputs;
    const char *name = is_input ? "in" : "out";
    int number = is_input ? i : i - inputs;
    block->offset[i] = block->words;
    cvy_block_add(block, source, offsets[i], "%s%d", name, number);
    add_strides(block, source, nest, name, number,
                is_input ? nest->input[number] : nest->result[number]);
  }
}

void cvy_nest_add_place(cvy_kernel_block *block, cvy_text *source,
                        const cvy_program_problem *problem, const cvy_program_nest *nest) {
  cvy_program_uses uses = cvy_program_uses_of(&problem->program);
  int64_t inner = 1;
  if (!uses.axes && !uses.random) return;
  cvy_block_add(block, source, 0, "index0");
  add_strides(block, source, nest, "index", 0, nest->index);
  for (int axis = CVY_PROGRAM_AXES - 1; axis >= 0; axis--) {
    if (uses.axes >> axis & 1) {
      cvy_block_add(block, source, inner, "inner%d", axis);
      cvy_block_add(block, source, problem->extent[axis], "axis%d", axis);
    }
    inner *= problem->extent[axis];
  }
  if (!uses.random) return;
  cvy_program_stream stream = cvy_program_stream_of(problem->seed, problem->run, problem->node);
  block->stream = block->words;
  for (int i = 0; i < 4; i++) cvy_block_add(block, source, stream.word[i], "stream%d", i);
}

/* ---------------------------------------------------------------------------------------- text */

void cvy_nest_write_offset(cvy_text *source, const char *name, const int64_t *strides, int loops,
                           int innermost) {
  cvy_text_add(source, "args.%s", name);
  for (int loop = 0; loop < loops; loop++) {
    if (has_argument(strides, loop, innermost))
      cvy_text_add(source, " + i%d * args.%s_%d", loop, name, loop);
    else if (strides[loop])
      cvy_text_add(source, " + i%d", loop);
  }
}

static const char *type_name(int32_t type) {
  static const char *const names[] = {
      [CONVOY_FLOAT32] = "float", [CONVOY_INT32] = "int", [CONVOY_UINT8] = "uchar"};
  return names[type];
}

void cvy_nest_write_inputs(cvy_text *source, const cvy_program_problem *problem) {
  for (int i = 0; i < problem->program.inputs; i++) {
    cvy_text_add(source, "%sglobal const %s *in%d", i ? ",\n    " : "",
                 type_name(problem->input[i].type), i);
  }
}

static void write_place(cvy_text *source, const cvy_program_problem *problem,
                        const cvy_program_nest *nest, const char *indent) {
  cvy_program_uses uses = cvy_program_uses_of(&problem->program);
  cvy_text_add(source, "%sconst word index = ", indent);
  cvy_nest_write_offset(source, "index0", nest->index, nest->axes, nest->axes - 1);
  cvy_text_add(source, ";\n%sconst program_place at = {\n", indent);
  for (int axis = 0; axis < CVY_PROGRAM_AXES; axis++) {
    if (uses.axes >> axis & 1)
      cvy_text_add(source, "%s    axis_of(index, args.inner%d, args.axis%d),\n", indent, axis,
                   axis);
    else
      cvy_text_add(source, "%s    number(0.0f),\n", indent);
  }
  if (uses.random) {
    cvy_text_add(source,
                 "%s    (uint4)((uint)args.stream0, (uint)args.stream1, (uint)args.stream2,\n"
                 "%s            (uint)args.stream3), index};\n",
                 indent, indent);
  } else {
    cvy_text_add(source, "%s    (uint4)(0u), index};\n", indent);
  }
}

void cvy_nest_write_loads(cvy_text *source, const cvy_program_problem *problem,
                          const cvy_program_nest *nest, const char *indent) {
  uint32_t read = cvy_program_uses_of(&problem->program).inputs;
  char name[16];
  for (int i = 0; i < problem->program.inputs; i++) {
    const int64_t *strides = nest->input[i];
    if (!(read >> i & 1)) {
      cvy_text_add(source, "%sconst real x%d = number(0.0f);\n", indent, i);
      continue;
    }
    snprintf(name, sizeof name, "in%d", i);
    cvy_text_add(source, "%sconst real x%d = LOAD_%s(in%d + ", indent, i,
                 strides[nest->axes - 1] ? type_name(problem->input[i].type) : "ONE", i);
    cvy_nest_write_offset(source, name, strides, nest->axes, nest->axes - 1);
    cvy_text_add(source, ");\n");
  }
  if (is_placed(problem)) write_place(source, problem, nest, indent);
}

void cvy_nest_write_call(cvy_text *source, const cvy_program_problem *problem) {
  cvy_text_add(source, "program_values(");
  for (int i = 0; i < problem->program.inputs; i++) cvy_text_add(source, "x%d, ", i);
  if (is_placed(problem)) cvy_text_add(source, "&at, ");
  for (int k = 0; k < problem->program.results; k++)
    cvy_text_add(source, "%s&y%d", k ? ", " : "", k);
  cvy_text_add(source, ");\n");
}
