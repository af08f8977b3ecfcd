/* The data of one problem and what every direction makes of it. */
#ifndef TEST_WORKLOAD_H
#define TEST_WORKLOAD_H

#include "common/array.h"
#include "operation.h"

typedef enum data_kind { DATA_INTEGERS, DATA_REALS } data_kind;

typedef struct workload {
  test_case problem;
  data_kind kind;
  uint64_t seed;
  test_array x, w, dy, bias;
  test_array before[CONVOY_DIRECTIONS]; /* what beta = 1 adds to */
  ref_value *reference[CONVOY_DIRECTIONS];
  int64_t count[CONVOY_DIRECTIONS]; /* elements of the direction's output */
} workload;

/* Ends the test program when memory is exhausted, or when integer data would not be exact. */
void workload_make(const test_case *problem, data_kind kind, uint64_t seed, workload *out);
void workload_free(workload *work);

operands workload_operands(const workload *work, const operation *op, float *out);
bool workload_inputs_unchanged(const workload *work);

/* Expected output of an operation; the caller frees it. */
ref_value *workload_expected(const workload *work, const operation *op);
/* The same with the magnitudes and terms that the larger bound of some rows counts (convoy.h,
 * Accuracy). */
ref_value *workload_widened(const workload *work, const operation *op, const ref_value *expected,
                            double growth, int64_t reach);

#endif
