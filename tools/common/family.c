/* The table of families, and products and pooling. */
#include "common/family.h"

#include <math.h>
#include <string.h>

#include "ref/matmul.h"
#include "ref/pool.h"

enum { DIMS = CONVOY_MAX_DIMS };

/* ---------------------------------------------------------------------------------- products */

static convoy_status read_product(const char *text, operation *out) {
  out->inputs = 2;
  return convoy_parse_matmul(text, &out->flags, out->dims, out->shape);
}

static convoy_status multiply(convoy_context *context, const operation *what,
                              convoy_tensor *const *tensors, convoy_run *run) {
  return convoy_matmul(context, what->flags, tensors[0], tensors[1], tensors[2], run);
}

static ref_value element_of_product(const operation *what, int64_t index) {
  return ref_matmul(what->flags, what->dims, (const int64_t(*)[DIMS])what->shape, what->host[0],
                    what->host[1], index);
}

/* Its own, or as many as of all of a batch. */
static int64_t terms_of_product(const operation *what) {
  int64_t rows = what->shape[2][what->dims[2] - 2];
  return rows ? what->count[0] / rows + 1 : 1;
}

/* a has an element for each row, term and product, each of which meets all columns. */
static double flops_of_product(const operation *what) {
  bool b_is_larger = what->dims[1] == 3 && what->shape[1][0] > 1;
  bool a_is_batched = what->dims[0] == 3 && what->shape[0][0] > 1;
  double batch = b_is_larger && !a_is_batched ? (double)what->shape[1][0] : 1.0;
  double columns = (double)what->shape[2][what->dims[2] - 1];
  return 2.0 * batch * (double)what->count[0] * columns;
}

/* ----------------------------------------------------------------------------------- pooling */

/* x, dy or both, then what is made. */
static convoy_status read_pooling(const char *text, operation *out) {
  int64_t x[DIMS] = {1, 1, 1, 1, 1}, y[DIMS] = {1, 1, 1, 1, 1};
  const int64_t *const of[CONVOY_POOLS][3] = {{x, y}, {x, y, x}, {x, y}, {y, x}};
  convoy_status status = convoy_parse_pool(text, &out->pool, &out->window, x, y);
  if (status != CONVOY_OK) return status;
  out->inputs = out->pool == CONVOY_MAX_POOL_BACKWARD ? 2 : 1;
  for (int i = 0; i <= out->inputs; i++) {
    out->dims[i] = out->window.rank + 2;
    memcpy(out->shape[i], of[out->pool][i], sizeof out->shape[i]);
  }
  return CONVOY_OK;
}

static convoy_status pool(convoy_context *context, const operation *what,
                          convoy_tensor *const *tensors, convoy_run *run) {
  const convoy_window *window = &what->window;
  switch (what->pool) {
    case CONVOY_MAX_POOL:
      return convoy_max_pool(context, window, tensors[0], tensors[1], run);
    case CONVOY_MAX_POOL_BACKWARD:
      return convoy_max_pool_backward(context, window, tensors[0], tensors[1], tensors[2], run);
    case CONVOY_AVERAGE_POOL:
      return convoy_average_pool(context, window, tensors[0], tensors[1], run);
    case CONVOY_AVERAGE_POOL_BACKWARD:
      break;
  }
  return convoy_average_pool_backward(context, window, tensors[0], tensors[1], run);
}

static ref_value element_of_pooling(const operation *what, int64_t index) {
  static const int x[CONVOY_POOLS] = {0, 0, 0, 1}, y[CONVOY_POOLS] = {1, 1, 1, 0};
  const float *const in[] = {what->host[0], what->host[1]};
  return ref_pool(what->pool, &what->window, what->shape[x[what->pool]], what->shape[y[what->pool]],
                  in, index);
}

/* A gradient's element looks at the windows around it. */
static int64_t terms_of_pooling(const operation *what) {
  int64_t taps = 1;
  bool forward = what->pool == CONVOY_MAX_POOL || what->pool == CONVOY_AVERAGE_POOL;
  for (int axis = 0; axis < what->window.rank; axis++) taps *= what->window.extent[axis];
  return forward ? taps : taps * taps;
}

double family_no_flops(const operation *what) {
  (void)what;
  return NAN;
}

/* ------------------------------------------------------------------------------------- table */

static const char *const products[] = {"matmul ", NULL};
static const char *const poolings[] = {"max_pool ", "max_pool_backward ", "average_pool ",
                                       "average_pool_backward ", NULL};
const family family_products = {products,           "products",       read_product,    multiply,
                                element_of_product, terms_of_product, flops_of_product};
const family family_pooling = {poolings,           "pooling",        read_pooling,   pool,
                               element_of_pooling, terms_of_pooling, family_no_flops};

static const family *const families[] = {&family_products, &family_pooling, &family_copies,
                                         &family_concatenations, &family_resampling};
enum { FAMILIES = sizeof families / sizeof families[0] };

const family *family_of(const char *text) {
  for (int i = 0; i < FAMILIES; i++) {
    for (const char *const *word = families[i]->words; *word; word++)
      if (strncmp(text, *word, strlen(*word)) == 0) return families[i];
  }
  return NULL;
}
