/* An algorithm's parameters: as text, "TM=64 TN=64", and back; and one step away from others. */
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
/* The same for what runs with one program of the device, so that a second choice with it compiles
 * nothing. */
uint64_t cvy_programs_hash(const cvy_algorithm *algorithm, const cvy_params *params,
                           const cvy_problem *problem);

/* Parameters of the algorithm. */
int cvy_params_count(const cvy_algorithm *algorithm);
/* `from` with parameter `which` moved by `steps` places in its list, and, if it cannot run so, with one
 * other parameter moved as little as makes it run. False if nothing does. */
bool cvy_params_step(const cvy_algorithm *algorithm, const cvy_problem *problem,
                     const cvy_facts *facts, const cvy_params *from, int which, int steps,
                     cvy_params *out);

#endif
