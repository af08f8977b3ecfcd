/* Options that programs of several algorithms are compiled with: the extents of space, and how many
 * registers an item may have. */
#include "ocl/engine/build_options.h"

#include "ocl/engine/device.h"

void add_space(cvy_text *text, const cvy_problem *problem, bool compiled) {
  const struct {
    const char *name;
    const int64_t *values;
  } extents[] = {{"IN", problem->conv.in},   {"FILTER", problem->conv.filter},
                 {"OUT", problem->conv.out}, {"STRIDE", problem->conv.stride},
                 {"PAD", problem->conv.pad}, {"DILATION", problem->conv.dilation}};
  cvy_text_add(text, " -D SPACE=%d", compiled ? 2 : 1);
  if (compiled) {
    cvy_text_add(text, " -D IN_ALIGNED=%d -D OUT_ALIGNED=%d",
                 cvy_array_view_takes_fours(&problem->conv.x),
                 cvy_array_view_takes_fours(&problem->conv.y));
  }
  for (size_t i = 0; compiled && i < CVY_COUNT(extents); i++) {
    for (int axis = 0; axis < 3; axis++) {
      cvy_text_add(text, " -D %s_%d=%lld", extents[i].name, axis,
                   (long long)extents[i].values[axis]);
    }
  }
}

/* Registers of a multiprocessor, which are handed out in eights; an item cannot have more than the
 * most. */
#define REGISTERS 65536
#define MOST_REGISTERS 255

void add_resident(cvy_text *text, const cvy_device *device, int64_t items) {
  if (!device->traits.takes_registers) return;
  int64_t each = REGISTERS / items / 8 * 8;
  cvy_text_add(text, " -cl-nv-maxrregcount=%lld",
               (long long)(each < MOST_REGISTERS ? each : MOST_REGISTERS));
}
