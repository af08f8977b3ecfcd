/* Opening contexts and making tensors in one line; a failure ends the test. */
#ifndef OPEN_H
#define OPEN_H

#include "convoy/convoy.h"

/* One thread, no tuning records, no verification, failover on unless `failover` is CONVOY_NO. */
convoy_context *open_named(const char *device, convoy_switch failover);
/* The same with verification; and failover as it says. */
convoy_context *open_verified(const char *device, convoy_verify verify, convoy_switch failover);
convoy_program *program_of(const char *text);
/* Carries it out on its inputs, behind which its results are. */
convoy_status apply_to(convoy_context *context, const convoy_program *program,
                       convoy_tensor *const *operands, convoy_run *run);
convoy_health health_of(convoy_context *context);
/* Rank-1 tensors; values NULL: left as it is born, zeros. */
convoy_tensor *tensor_of(convoy_context *context, const int64_t *shape, const float *values);
void check_tensor(convoy_tensor *tensor, const float *wanted);
/* The line that describes the context; valid until the next. */
const char *description_of(convoy_context *context);
/* The text has the word in it. */
void check_says(const char *text, const char *word);
void check_values(const float *values, const float *wanted, int64_t count);

#endif
