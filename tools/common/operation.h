/* One operation that is no convolution, given as text: of a program, a matrix product, pooling or a
 * move; with its operands in host memory and what its results ought to be. */
#ifndef COMMON_OPERATION_H
#define COMMON_OPERATION_H

#include <stdbool.h>

#include "common/check.h"
#include "common/problem.h"
#include "convoy/convoy.h"

typedef struct operation {
  const char *text; /* y = max(x, 0) on n2c3h4w5, matmul a3x4 b4x5 or max_pool n1c2h4w4 r2s2 */
  convoy_program *program; /* NULL: it is of another family */
  const struct family *family;
  uint32_t flags;       /* of a product */
  convoy_pool pool;     /* of pooling, */
  convoy_window window; /* and its windows */
  convoy_box box;       /* of a copy */
  int32_t backward;     /* of resampling, */
  convoy_resampling resampling;
  char *body; /* the program's own text, or the whole */
  int inputs, results;
  convoy_dtype dtype[CONVOY_MAX_OPERANDS];
  int32_t dims[CONVOY_MAX_OPERANDS];
  int64_t shape[CONVOY_MAX_OPERANDS][CONVOY_MAX_DIMS], count[CONVOY_MAX_OPERANDS];
  void *host[CONVOY_MAX_OPERANDS];    /* inputs, then results as they were read last */
  float *wanted[CONVOY_MAX_OPERANDS]; /* of results, the CPU engine's */
} operation;

/* Reads a text, with a name in place of the program if it is one: "relu on n2c3h4w5". Returns OK,
 * or a status with convoy_last_error(). */
convoy_status operation_read(const char *text, operation *out);
/* The same of the gradients of all inputs of such a text. They are full arrays, and so is what they
 * are made of. ERR_UNSUPPORTED for other families: their gradients have texts of their own. */
convoy_status operation_read_gradient(const char *text, operation *out);
/* Of which family other than programs a text is, in the plural: "products". NULL: of none. */
const char *operation_family(const char *text);
void operation_free(operation *what);

/* Returns the bytes of all operands, each once, which is the least that any algorithm moves. */
double operation_bytes(const operation *what);
/* Floating-point operations of a product; NaN of all others, which wait for memory. */
double operation_flops(const operation *what);

/* Allocates all operands and fills the inputs: `value` and `offset` together are a float32 input's
 * elements. int32 ones are small numbers, uint8 ones 0 or 1. Returns false if memory is exhausted.
 */
bool operation_fill(operation *what, fill *value, float offset);
/* Has the CPU engine make what is wanted. */
convoy_status operation_expect(operation *what, convoy_context *cpu);

/* Tensors for all operands, with the inputs' values. On failure nothing is left. */
convoy_status operation_tensors(convoy_context *context, const operation *what,
                                convoy_tensor **tensors);
void operation_drop(const operation *what, convoy_tensor **tensors);
/* Writes the inputs' values once more. */
convoy_status operation_give(const operation *what, convoy_tensor *const *tensors);
/* The call is asynchronous if `run` is NULL. */
convoy_status operation_apply(convoy_context *context, const operation *what,
                              convoy_tensor *const *tensors, convoy_run *run);
/* Results to the host, over NaN. */
convoy_status operation_fetch(operation *what, convoy_tensor *const *tensors);

/* Compares all elements of all results with what is wanted, bit for bit, but that any NaN is as
 * good as any other, and 0 as -0. Other families may round otherwise: the reference judges them. */
verdict operation_compare_exactly(const operation *what);
/* Compares elements of all results with the float64 reference, within what rounding can do: so many
 * that about `most` values are evaluated, at least one of each result. Returns false if the
 * reference cannot read the program: it draws random numbers. */
bool operation_compare_reference(const operation *what, int64_t most, verdict *result);

#endif
