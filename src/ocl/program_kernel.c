/* Elementwise kernels: one vector of elements for each work-item. */
#include "ocl/program_kernel.h"

#include <stdio.h>
#include <string.h>

#include "ocl/nest_source.h"

static void declare_arguments(const cvy_program_problem *problem, const cvy_program_nest *nest,
                              const int64_t *offsets, cvy_text *source, cvy_program_launch *out) {
  cvy_block_add(&out->block, source, out->items, "items");
  cvy_nest_add_extents(&out->block, source, nest, 0, nest->axes);
  cvy_nest_add_operands(&out->block, source, problem->program.inputs, problem->program.results,
                        nest, offsets);
  cvy_nest_add_place(&out->block, source, problem, nest);
}

static void write_kernel(const cvy_program_problem *problem, const cvy_program_nest *nest,
                         cvy_text *source) {
  int results = problem->program.results;
  char name[16];
  cvy_text_add(source, "\nkernel void program(const arguments args");
  if (problem->program.inputs) cvy_text_add(source, ",\n    ");
  cvy_nest_write_inputs(source, problem);
  for (int k = 0; k < results; k++) cvy_text_add(source, ",\n    global float *out%d", k);
  cvy_text_add(source, ") {\n");
  cvy_text_add(source,
               "  const size_t group = (size_t)args.first_group + get_group_id(0);\n"
               "  const size_t item = group * get_local_size(0) + get_local_id(0);\n"
               "  if (item >= args.items) return;\n"
               "  const word element = (word)item * PROGRAM_WIDTH;\n");
  cvy_nest_write_indices(source, 0, nest->axes, "element", "  ");
  cvy_nest_write_loads(source, problem, nest, UINT32_MAX, "  ");
  cvy_nest_write_place(source, problem, nest, "  ");
  cvy_program_write_values(&problem->program, UINT64_MAX, "  ", source);
  for (int k = 0; k < results; k++) {
    snprintf(name, sizeof name, "out%d", k);
    cvy_text_add(source, "  store(out%d + ", k);
    cvy_nest_write_offset(source, name, nest->result[k], nest->axes, nest->axes - 1);
    cvy_text_add(source, ", ");
    cvy_program_write_operand(&problem->program, problem->program.result[k], source);
    cvy_text_add(source, ");\n");
  }
  cvy_text_add(source, "}\n");
}

/* All but the text of the kernel: the launch, and the declaration of its arguments if there is
 * a source. */
static void size_launch(const cvy_program_problem *problem, const int64_t *offsets,
                        cvy_text *source, cvy_program_nest *nest, cvy_program_launch *out) {
  const cvy_program *program = &problem->program;
  cvy_program_uses uses = cvy_program_uses_of(program);
  memset(out, 0, offsetof(cvy_program_launch, block));
  cvy_program_nest_of(problem, program->results, 0, nest);
  out->placed = uses.axes || uses.random;
  out->width = cvy_nest_width(problem, nest, program->results, offsets, out->placed ? 4 : 8);
  out->items = nest->count / out->width;
  cvy_block_begin(&out->block, cvy_nest_word_bytes(problem, nest, program->results, offsets),
                  source);
  declare_arguments(problem, nest, offsets, source, out);
}

bool cvy_program_launch_fits(const cvy_program_problem *problem, const int64_t *offsets,
                             cvy_text *reason) {
  cvy_program_launch sized;
  cvy_program_nest nest;
  if (cvy_program_count(problem->extent) == 0) return true;
  size_launch(problem, offsets, NULL, &nest, &sized);
  return cvy_block_fits(&sized.block, problem->program.inputs + problem->program.results, reason);
}

convoy_status cvy_program_launch_of(const cvy_program_problem *problem, const int64_t *offsets,
                                    cvy_text *source, cvy_program_launch *out) {
  const cvy_program *program = &problem->program;
  cvy_program_nest nest;
  memset(out, 0, sizeof *out);
  if (cvy_program_count(problem->extent) == 0) return CONVOY_OK;
  size_launch(problem, offsets, source, &nest, out);
  snprintf(out->options, sizeof out->options, "-DPROGRAM_WIDTH=%d -DWORD_BYTES=%d", (int)out->width,
           (int)out->block.word_bytes);
  convoy_status status = cvy_block_end(&out->block, program->inputs + program->results, source);
  if (status) return status;
  write_kernel(problem, &nest, source);
  if (source->overflow) {
    return cvy_fail(CONVOY_ERR_UNSUPPORTED, "opencl: the program's kernel has more than %zu bytes",
                    source->size);
  }
  return CONVOY_OK;
}
