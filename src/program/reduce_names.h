/* What the kinds of reductions are called in texts, and what texts of problems share. */
#ifndef CVY_PROGRAM_REDUCE_NAMES_H
#define CVY_PROGRAM_REDUCE_NAMES_H

#include "program/reduce.h"

extern const char *const cvy_reduce_names[CVY_REDUCE_KINDS];

/* Extents and classes of a problem's operands: "n16c64z1h80w80 x0 full, ..., y0 per channel,". */
void cvy_program_write_operands(const cvy_program_problem *problem, int results, cvy_text *to);

#endif
