/* The table of faults on disk: faults.txt in the state folder, shared by all processes. A table
 * that cannot be read or written costs one line of log, never an operation. */
#ifndef CVY_FAULT_FILE_H
#define CVY_FAULT_FILE_H

#include "core/faults/fault_table.h"

/* The fault limit: CONVOY_FAULT_LIMIT, else CVY_FAULT_LIMIT. 0: no table is kept or obeyed. */
int32_t cvy_fault_limit(void);
/* What is recorded; empty if nothing is, or it cannot be read. */
void cvy_fault_table_load(cvy_fault_table *out);
/* Adds faults to `mine` and to the file; what other processes have written comes along. */
void cvy_fault_table_note(cvy_fault_table *mine, const cvy_fault_entry *what);

/* convoy_fault_table, convoy_fault_table_clear. */
convoy_status cvy_fault_table_text(const char *device, char *text, size_t size);
convoy_status cvy_fault_table_clear(const char *device);

#endif
