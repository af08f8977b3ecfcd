/* The programs and reductions that have names: what public functions of that name are made of, what
 * compositions (batch norm, optimizers) call, and what the build compiles ahead into one loop each
 * for the CPU (cpu/program/generate.c). A program is found there by its bytes, so it makes no
 * difference whether it came from here or from a text of the same meaning. */
#ifndef CVY_PROGRAM_NAMED_H
#define CVY_PROGRAM_NAMED_H

#include "program/reduce.h"

typedef struct cvy_named_program {
  const char *name;
  const char *numbers; /* names of the inputs that are one number for all elements or a channel's */
  const char *text;
  const char *gradients; /* names of the inputs whose gradients people ask for; not of reductions */
} cvy_named_program;

extern const cvy_named_program cvy_named_programs[];
extern const int cvy_named_count;

/* NULL: there is none of this name. */
const cvy_named_program *cvy_named_find(const char *name);

/* As cvy_reduction_parse. */
convoy_status cvy_named_parse(const cvy_named_program *named, cvy_program *program,
                              cvy_reduction *how, cvy_program_names *names);
/* The bits of the inputs that a list of names has, such as `numbers`. */
uint32_t cvy_named_inputs(const char *list, const cvy_program *program,
                          const cvy_program_names *names);

#endif
