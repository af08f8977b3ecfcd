/* The fault table: how often a device failed at what, and what follows. Pure: no file, no clock.
 *
 * Three faults at one level lead to the next,
 *     tuned choice -> conservative algorithms with their defaults -> CPU,
 * for the class of shapes they belong to, or for all if they belong to none. A day without a new
 * one forgives those of a place.
 *
 * File: first line "convoy-faults 1", then one place per line,
 *   device | driver | algorithm | problem | tuned | 2 | 1800000000 | what happened last
 * with the number of faults and the time of the last one. The problem stands for its class
 * (cvy_class_example); older files have the class's name instead, which is kept as it is. */
#ifndef CVY_FAULT_TABLE_H
#define CVY_FAULT_TABLE_H

#include "core/verify/shape_class.h"

enum {
  CVY_FAULT_LIMIT = 3,
  CVY_FAULT_LIMIT_MOST = 1000000,
  CVY_FAULT_QUIET = 24 * 60 * 60 /* seconds */
};

typedef enum cvy_level {
  CVY_LEVEL_TUNED,
  CVY_LEVEL_CONSERVATIVE,
  CVY_LEVEL_CPU,
  CVY_LEVELS
} cvy_level;

/* A place where faults happen. `algorithm` and `shape_class` are "*" for what belongs to no one
 * operation: it counts for all classes. */
typedef struct cvy_fault_entry {
  char device[128], driver[128], algorithm[32], shape_class[CVY_CLASS_TEXT];
  char example[CVY_EXAMPLE_TEXT]; /* of the class: the latest; its name where none is known */
  cvy_level level;                /* where the device stood; CVY_LEVEL_CPU does not occur */
  int32_t count;
  int64_t last; /* seconds since 1970 */
  char reason[160];
  int32_t unwritten; /* how many of them the file lacks */
} cvy_fault_entry;

#define CVY_FAULT_ENTRIES 64
typedef struct cvy_fault_table {
  cvy_fault_entry list[CVY_FAULT_ENTRIES];
  int32_t count;
  int32_t skipped; /* lines that were no entries */
} cvy_fault_table;

/* Bytes that hold any file. */
#define CVY_FAULT_TABLE_TEXT ((size_t)CVY_FAULT_ENTRIES * 1024 + 64)

/* Reads a whole file's text. Lines that are no entries are counted and skipped; a text that does
 * not begin with the version line gives none and counts as one; what does not fit is left out. */
void cvy_fault_table_parse(const char *text, cvy_fault_table *out);
/* The file's text; CVY_FAULT_TABLE_TEXT bytes suffice. */
void cvy_fault_table_format(const cvy_fault_table *table, char *text, size_t size);

/* Adds what->count faults at the time what->last, as the list's last place; what is forgiven by
 * then goes. A full list loses its oldest place. Separators and line ends in texts become '/'. */
void cvy_fault_table_add(cvy_fault_table *table, const cvy_fault_entry *what);
/* Forgets the places of devices in whose name `device` occurs, NULL: all. */
void cvy_fault_table_forget(cvy_fault_table *table, const char *device);

/* Where a device stands with a class of shapes. `limit` faults are one too many (CVY_FAULT_LIMIT).
 * *why gets the latest entry that counts, NULL at CVY_LEVEL_TUNED. */
cvy_level cvy_fault_table_level(const cvy_fault_table *table, const char *device,
                                const char *driver, const char *shape_class, int64_t now,
                                int32_t limit, const cvy_fault_entry **why);

/* The same for people: a line for each place whose device's name contains `device` (NULL: all). */
void cvy_fault_table_describe(const cvy_fault_table *table, const char *device, int64_t now,
                              int32_t limit, char *text, size_t size);

#endif
