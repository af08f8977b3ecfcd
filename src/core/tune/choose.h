/* Which algorithm runs, with which parameters. */
#ifndef CVY_CHOOSE_H
#define CVY_CHOOSE_H

#include "core/faults/fault_table.h"
#include "core/tune/choices.h"
#include "core/tune/tunefile.h"

typedef struct cvy_chooser {
  char forced[32];             /* run only this row, "": choose */
  cvy_records records;         /* the user's; for what they do not answer ... */
  cvy_records shipped;         /* ... those installed; both empty: table order */
  cvy_fault_table fault_table; /* faults recorded, with their limit; 0: not obeyed */
  int32_t fault_limit;
  int64_t choices; /* free choices looked for; the others had been made before */
  int64_t learned; /* records that were added: what was chosen before may be chosen otherwise */
  cvy_choices made;
} cvy_chooser;

const cvy_algorithm *cvy_chosen(const cvy_engine *engine, const cvy_choice *choice);
bool cvy_choice_same(const cvy_choice *a, const cvy_choice *b);
/* Row of that name in the backend's table, -1 if there is none. */
int32_t cvy_row_named(const cvy_backend *backend, const char *name);
/* Whether a row takes the problem; if so with default parameters in `out`, else with the reason.
 * Of a problem without images, where no row has anything to do, none is asked: all take it that do
 * the operation, without parameters and workspace. */
bool cvy_row_takes(const cvy_engine *engine, int32_t row, const cvy_problem *problem,
                   cvy_choice *out, cvy_text *reason);
/* The level to which recorded faults have brought a device for problems of this class; *why as
 * cvy_fault_table_level. A row asked for by name runs in spite of them. */
cvy_level cvy_chooser_level(const cvy_chooser *chooser, const cvy_engine *engine,
                            const cvy_problem *problem, const cvy_fault_entry **why);
/* What a record's `k` says: the algorithm's parameters and, on a device, the kernels. */
uint64_t cvy_signature(const cvy_engine *engine, const cvy_algorithm *algorithm);
/* Whether a record's choice can be run for the problem. */
bool cvy_record_runs(const cvy_engine *engine, const cvy_record *record, const cvy_problem *problem,
                     cvy_choice *out);
/* What is chosen without records and faults: the forced row, else the first that does not
 * refuse. */
convoy_status cvy_choose_untuned(const cvy_chooser *chooser, const cvy_engine *engine,
                                 const cvy_problem *problem, cvy_choice *out);
/* Of the user's records those for this device that are of another driver or of other kernels. */
int32_t cvy_records_stale(const cvy_records *records, const cvy_engine *engine);
/* Makes a record the one that counts from now on. ERR_MEMORY. */
convoy_status cvy_chooser_learn(cvy_chooser *chooser, const cvy_record *record);
/* The forced row if it is one of this engine's, else the fastest record's (the user's before those
 * shipped), else the first that does not refuse; after faults only conservative rows in table
 * order. ERR_UNSUPPORTED with the reasons. */
convoy_status cvy_choose(cvy_chooser *chooser, const cvy_engine *engine, const cvy_problem *problem,
                         cvy_choice *out);

#endif
