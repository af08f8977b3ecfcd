/* The operations under test and the two ways to call each: on host memory and on tensors. */
#ifndef TEST_OPERATION_H
#define TEST_OPERATION_H

#include "common/case.h"
#include "ref/ref.h"

typedef struct operation {
  const char *name;
  convoy_direction direction;
  int32_t beta; /* 0 or 1 */
  int32_t bias; /* forward only */
  convoy_activation activation;
} operation;

extern const operation operations[];
extern const int operation_count;

/* a and b in the order of ref.h; out holds what was there before and receives the result. */
typedef struct operands {
  const float *a, *b, *bias;
  float *out;
} operands;

typedef convoy_status call_fn(convoy_context *context, const test_case *problem,
                              const operation *op, const operands *with, convoy_run *run);
call_fn call_on_host;
/* Creates tensors, runs on them, reads the result, and reads the inputs back: ERR_IO, which no
 * operation returns, if one of them has changed. */
call_fn call_on_tensors;

/* What follows the sum: `reference` becomes the expected output. `before` is the output's old value,
 * `channels` and `volume` are those of y. */
void expect_after(const operation *op, const float *before, const float *bias, int64_t channels,
                  int64_t volume, int64_t count, ref_value *reference);

#endif
