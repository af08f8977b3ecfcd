/* The backends there are: the only file that names them. */
#include "backend.h"

const cvy_backend *const cvy_backends[] = {&cvy_backend_cpu, &cvy_backend_ocl, NULL};
