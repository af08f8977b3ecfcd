/* What the engine's own loops have to know of cpu.im2col, which leaves its products to OpenBLAS:
 * where that row is the better choice they step aside. */
#ifndef CVY_CPU_SHARED_BLAS_CHOICE_H
#define CVY_CPU_SHARED_BLAS_CHOICE_H

#include "backend.h"

/* Whether rows that call OpenBLAS are for an engine with so many threads (cvy_algorithm's
 * `serves`). If not, adds the reason. */
bool cvy_cpu_blas_runs(const cvy_facts *facts, cvy_text *reason);
/* Whether cpu.im2col accepts the problem, and OpenBLAS computes with AVX2 if the engine does: with
 * SSE it is slower at anything. Never in a build without OpenBLAS. */
bool cvy_cpu_blas_serves(const cvy_problem *problem, const cvy_facts *facts);
/* Whether it is, besides, likely to be faster than the engine's own loops. */
bool cvy_cpu_blas_is_faster(const cvy_problem *problem, const cvy_facts *facts);

#endif
