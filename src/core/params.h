/* An algorithm's parameters as text, "TM=64 TN=64", and back. */
#ifndef CVY_PARAMS_H
#define CVY_PARAMS_H

#include "backend.h"

/* "" for an algorithm without parameters. */
void cvy_params_text(const cvy_algorithm *algorithm, const cvy_params *params, char *text,
                     size_t size);
/* False unless every parameter of the algorithm stands there once, in its order, with one of its
 * values, and nothing else. */
bool cvy_params_parse(const cvy_algorithm *algorithm, const char *text, cvy_params *out);
/* Changes whenever the algorithm's parameters or their values do: old records are then foreign. */
uint64_t cvy_params_hash(const cvy_algorithm *algorithm);

#endif
