/* Text of kernels over nests. */
#include "ocl/nest_source.h"

#include <stdio.h>

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
                       int results, const int64_t *offsets, int32_t most) {
  int inputs = problem->program.inputs;
  int64_t extent = nest->extent[nest->axes - 1];
  bool four = extent % 4 == 0;
  for (int i = 0; i < inputs; i++) four &= takes_four(nest, nest->input[i], offsets[i]);
  for (int k = 0; k < results; k++) four &= takes_four(nest, nest->result[k], offsets[inputs + k]);
  if (!four) return 1;
  return extent % most ? 4 : most;
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

/* x / extent is (h + (x - h) / 2) >> shift, where h is the upper half of x times the inverse, for
 * all x below 2^32 and extents of at least 2 (T. Granlund, P. L. Montgomery, "Division by invariant
 * integers using multiplication", 1994, figure 4.1). */
static void add_divisor(cvy_kernel_block *block, cvy_text *source, uint64_t extent, int loop) {
  int shift = 0;
  while ((uint64_t)2 << shift < extent) shift++;
  uint64_t above = ((uint64_t)2 << shift) - extent;
  cvy_block_add(block, source, (int64_t)((above << 32) / extent + 1), "inverse%d", loop);
  cvy_block_add(block, source, shift, "shift%d", loop);
}

void cvy_nest_add_extents(cvy_kernel_block *block, cvy_text *source, const cvy_program_nest *nest,
                          int first, int end) {
  for (int loop = first + 1; loop < end; loop++) {
    cvy_block_add(block, source, nest->extent[loop], "extent%d", loop);
    if (block->word_bytes == 4) add_divisor(block, source, (uint64_t)nest->extent[loop], loop);
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

void cvy_nest_write_indices(cvy_text *source, int first, int end, const char *number,
                            const char *indent) {
  char rest[24];
  snprintf(rest, sizeof rest, "%s", number);
  for (int loop = end - 1; loop > first; loop--) {
    cvy_text_add(source, "%sconst word before%d = QUOTIENT(%s, %d);\n", indent, loop, rest, loop);
    cvy_text_add(source, "%sconst word i%d = %s - before%d * args.extent%d;\n", indent, loop, rest,
                 loop, loop);
    snprintf(rest, sizeof rest, "before%d", loop);
  }
  if (end > first) cvy_text_add(source, "%sconst word i%d = %s;\n", indent, first, rest);
}

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

uint32_t cvy_nest_steady_inputs(const cvy_program_problem *problem, const cvy_program_nest *nest,
                                int first, int end) {
  uint32_t steady = 0;
  for (int i = 0; i < problem->program.inputs; i++) {
    bool is_steady = true;
    for (int loop = first; loop < end; loop++) is_steady &= nest->input[i][loop] == 0;
    steady |= (uint32_t)is_steady << i;
  }
  return steady;
}

void cvy_nest_write_loads(cvy_text *source, const cvy_program_problem *problem,
                          const cvy_program_nest *nest, uint32_t inputs, const char *indent) {
  uint32_t read = cvy_program_uses_of(&problem->program).inputs & inputs;
  char name[16];
  for (int i = 0; i < problem->program.inputs; i++) {
    const int64_t *strides = nest->input[i];
    if (!(read >> i & 1)) continue;
    snprintf(name, sizeof name, "in%d", i);
    cvy_text_add(source, "%sconst real x%d = ", indent, i);
    if (strides[nest->axes - 1])
      cvy_text_add(source, "LOAD(%s, in%d + ", type_name(problem->input[i].type), i);
    else
      cvy_text_add(source, "LOAD_ONE(in%d + ", i);
    cvy_nest_write_offset(source, name, strides, nest->axes, nest->axes - 1);
    cvy_text_add(source, ");\n");
  }
}

void cvy_nest_write_place(cvy_text *source, const cvy_program_problem *problem,
                          const cvy_program_nest *nest, const char *indent) {
  cvy_program_uses uses = cvy_program_uses_of(&problem->program);
  if (!uses.axes && !uses.random) return;
  cvy_text_add(source, "%sconst word index = ", indent);
  cvy_nest_write_offset(source, "index0", nest->index, nest->axes, nest->axes - 1);
  cvy_text_add(source, ";\n%sconst program_place place = {\n", indent);
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
  cvy_text_add(source, "%sconst program_place *const at = &place;\n", indent);
}
