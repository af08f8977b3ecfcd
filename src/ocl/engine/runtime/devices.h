/* The devices of all runtimes. */
#ifndef CVY_OCL_ENGINE_RUNTIME_DEVICES_H
#define CVY_OCL_ENGINE_RUNTIME_DEVICES_H

#include "ocl/engine/runtime/runtime.h"

enum { RUNTIME_DEVICES = 64 }; /* the most that are looked at */

/* In the order in which `auto` takes them, at most RUNTIME_DEVICES, with the workspace limit of the
 * options. Where `enough` are found no further runtime is asked, nor loaded: what another one does
 * to a process is no business of one that does not use it. */
convoy_status runtime_devices(const cvy_open_options *options, int32_t enough, runtime_device *out,
                              int32_t *count);

/* As cvy_module says. */
void runtimes_visit(cvy_visit *out);
void runtimes_leave(const cvy_visit *visit);

#endif
