/* What CLBlast's products need. */
#ifndef CVY_OCL_CLBLAST_H
#define CVY_OCL_CLBLAST_H

#include "ocl/plan.h"

/* Floats of temporary memory for a product of m by n results of k terms. */
int64_t cvy_ocl_clblast_scratch(int64_t m, int64_t n, int64_t k);
/* Whether its kernels run on the device. If not, it says why. */
bool cvy_ocl_clblast_runs(const cvy_facts *facts, cvy_text *reason);

#endif
