/* Calls the library for a problem, by direction: on host memory, or on tensors. */
#ifndef COMMON_CALL_H
#define COMMON_CALL_H

#include "common/problem.h"

/* Calls on host memory. `epilogue` and data->bias serve forward only, beta serves the others. */
convoy_status call_host(convoy_context *context, const problem *about, operands *data, float beta,
                        const convoy_epilogue *epilogue, convoy_run *run);

typedef struct tensors {
  convoy_tensor *a, *b, *out;
} tensors;

/* Makes the tensors of a problem and writes the inputs. On failure nothing is left. */
convoy_status tensors_make(convoy_context *context, const problem *about, const operands *data,
                           tensors *out);
void tensors_free(tensors *data);
/* Calls for one operation with beta 0 and without bias. The call is asynchronous if `run`
 * is NULL. */
convoy_status call_tensors(convoy_context *context, const problem *about, tensors *data,
                           convoy_run *run);

/* Says whether a call was carried out where and by what was asked, at the first attempt. If not,
 * `why` says how it was. With `algorithm` NULL any will do. */
bool call_as_asked(const convoy_run *run, const char *device, const char *algorithm, char *why,
                   size_t why_size);

#endif
