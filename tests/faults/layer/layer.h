/* The parts of the layer: which call is struck (strike.h), what it does to data (spoil.c), the
 * disguise of the device (disguise.c), and the entry points that use them (entries.c). */
#ifndef FAULTS_LAYER_H
#define FAULTS_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include "strike.h"

/* ------------------------------------------------------------------------- entries.c */

extern cl_icd_dispatch below; /* the functions under the layer */

typedef struct entry {
  const char *name;
  size_t place;   /* in the dispatch table */
  void *function; /* of the layer */
} entry;
extern const entry entries[]; /* ended by a NULL name */

/* --------------------------------------------------------------------------- spoil.c */

/* As spoil_values does, in device memory, waiting for the queue. */
cl_int spoil_memory(fault_action action, cl_command_queue queue, cl_mem memory, size_t at,
                    size_t bytes);

/* Which buffers a kernel is bound to, from what is passed by. */
void spoil_note_memory(cl_mem memory);
void spoil_forget_memory(cl_mem memory);
void spoil_note_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value);
void spoil_forget_kernel(cl_kernel kernel);

/* Runs a kernel and changes what it wrote: whatever differs afterwards in the kernel's buffers. */
typedef struct kernel_call {
  cl_command_queue queue;
  cl_kernel kernel;
  cl_uint dims;
  const size_t *offset, *global, *local;
} kernel_call;
cl_int spoil_kernel(fault_action action, const kernel_call *call);

/* ------------------------------------------------------------------------ disguise.c */

/* With CONVOY_FAULT_DEVICE=gfx1010 every device says it is a Radeon RX 5600 XT. True: answered. */
bool disguise_info(cl_device_info what, size_t size, void *value, size_t *size_needed,
                   cl_int *code);

#endif
