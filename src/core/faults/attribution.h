/* Which operation a fault belongs to; that is what the table of faults gets. */
#ifndef CVY_ATTRIBUTION_H
#define CVY_ATTRIBUTION_H

#include "core/tune/choices.h"

/* The device is open: loads the table of faults. */
void cvy_fault_table_start(convoy_context *context);
/* A command of the device failed: an entry for the operation it belongs to, or for the device
 * if it belongs to none. Call before the stores lose their device copies. */
void cvy_attribute_fault(convoy_context *context, uint64_t ticket, convoy_status status,
                         const char *sentence);
/* The same for an operation that is known; NULL: it belongs to none. */
void cvy_attribute_to(convoy_context *context, const cvy_problem *problem, const cvy_choice *choice,
                      convoy_status status, const char *sentence);

#endif
