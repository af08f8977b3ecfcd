/* The device that is pretended, and what the program notes of it. */
#ifndef ISA_H
#define ISA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct isa_device {
  const char *name;
  int units, megahertz, gigabytes, local_bytes, vendor;
} isa_device;

/* Programs go to `into`/NUMBER.cl and .options, launches to `into`/launches.tsv as lines "label, program,
 * kernel, work-groups, items, slices, slice_length, items_per_result" (the last three as in
 * cl/conv_args.h). False if there is no such device or folder. */
bool isa_begin(const char *name, const char *into);
/* What the launches from now on belong to. */
void isa_label(const char *text);
bool isa_end(void);

#endif
