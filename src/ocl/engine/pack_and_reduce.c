/* Launches the kernels that come before and after tiled products. They are one program, because
 * most networks need both. */
#include "ocl/engine/pack_and_reduce.h"

#include "cl/sources.h"
#include "ocl/engine/device.h"

static const program_source source = {
    "pack_and_reduce.cl",
    (const char *const[]){cvy_cl_conv_args, cvy_cl_epilogue, cvy_cl_pack_and_reduce, NULL}};

convoy_status launch_pack_or_reduce(cvy_device *device, const cvy_problem *problem,
                                    const char *kernel, const conv_args *args, int64_t items,
                                    const bindings *arrays) {
  int64_t group = cvy_ocl_group_items(&device->facts);
  char options[64];
  cvy_text text = cvy_text_in(options, sizeof options);
  cvy_text_add(&text, "-D WIDE=0 -D WG=%lld -D DIRECTION=%d", (long long)group,
               problem->operation == CONVOY_BACKWARD_DATA);
  launch what = {.source = &source,
                 .options = options,
                 .kernel = kernel,
                 .work_groups = cvy_ocl_ceil_div(items, group),
                 .items = group,
                 .work = (double)items};
  return launch_conv(device, &what, args, arrays);
}
