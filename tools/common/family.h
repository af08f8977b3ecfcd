/* What is done with an operation that is not a program's: a row for each family's words. */
#ifndef COMMON_FAMILY_H
#define COMMON_FAMILY_H

#include "common/operation.h"
#include "ref/ref.h"

typedef struct family {
  const char *const *words; /* that texts begin with, ended by NULL */
  const char *plural;
  /* Of a text: inputs, and of all operands types, extents and how many there are; one result. */
  convoy_status (*read)(const char *text, operation *out);
  convoy_status (*apply)(convoy_context *context, const operation *what,
                         convoy_tensor *const *tensors, convoy_run *run);
  ref_value (*element)(const operation *what, int64_t index);
  int64_t (*terms)(const operation *what); /* of one element, about */
  double (*flops)(const operation *what);  /* NaN: it waits for memory */
} family;

/* NULL: a program's. */
const family *family_of(const char *text);

/* family.c; moves.c; resampling.c */
extern const family family_products, family_pooling;
extern const family family_copies, family_concatenations;
extern const family family_resampling;

double family_no_flops(const operation *what);

#endif
