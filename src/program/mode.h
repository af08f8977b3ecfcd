/* The floating-point mode programs are defined in: round to nearest, denormal numbers kept, nothing
 * traps, whatever mode the thread is in. What is computed between the two calls must be a function
 * of its own that is not inlined: compilers do not know that arithmetic depends on the mode. */
#ifndef CVY_PROGRAM_MODE_H
#define CVY_PROGRAM_MODE_H

#include <fenv.h>

static inline void cvy_default_mode(fenv_t *before) {
  fegetenv(before);
  fesetenv(FE_DFL_ENV);
}

static inline void cvy_restore_mode(const fenv_t *before) {
  fesetenv(before);
}

#endif
