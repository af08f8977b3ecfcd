/* What the kinds of reductions are called in texts. */
#ifndef CVY_PROGRAM_REDUCE_NAMES_H
#define CVY_PROGRAM_REDUCE_NAMES_H

#include "program/reduce.h"

extern const char *const cvy_reduce_names[CVY_REDUCE_KINDS];

#endif
