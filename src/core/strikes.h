/* Strikes: how often a device failed at what, and what follows. Pure: no file, no clock.
 *
 * Three strikes at one rung of the ladder lead to the next,
 *     tuned choice -> conservative algorithms with their defaults -> CPU,
 * for the class of shapes they belong to, or for all if they belong to none. A day without a new one
 * forgives those of a place.
 *
 * File: first line "convoy-faults 1", then one place per line,
 *   device | driver | algorithm | problem | tuned | 2 | 1800000000 | what happened last
 * with the number of strikes and the time of the last one. The problem stands for its class
 * (cvy_class_example); older files have the class's name instead, which is kept as it is. */
#ifndef CVY_STRIKES_H
#define CVY_STRIKES_H

#include "core/shape_class.h"

enum {
  CVY_STRIKE_LIMIT = 3,
  CVY_STRIKE_LIMIT_MOST = 1000000,
  CVY_STRIKE_QUIET = 24 * 60 * 60 /* seconds */
};

typedef enum cvy_rung { CVY_RUNG_TUNED, CVY_RUNG_CONSERVATIVE, CVY_RUNG_CPU, CVY_RUNGS } cvy_rung;

/* A place where faults happen. `algorithm` and `shape_class` are "*" for what belongs to no one
 * operation: it counts for all classes. */
typedef struct cvy_strike {
  char device[128], driver[128], algorithm[32], shape_class[CVY_CLASS_TEXT];
  char example[CVY_EXAMPLE_TEXT]; /* of the class: the latest; its name where none is known */
  cvy_rung rung;                  /* where the device stood; CVY_RUNG_CPU does not occur */
  int32_t count;
  int64_t last; /* seconds since 1970 */
  char reason[160];
  int32_t unwritten; /* how many of them the file lacks */
} cvy_strike;

#define CVY_STRIKES 64
typedef struct cvy_strikes {
  cvy_strike list[CVY_STRIKES];
  int32_t count;
  int32_t skipped; /* lines that were no strikes */
} cvy_strikes;

#define CVY_STRIKES_TEXT ((size_t)CVY_STRIKES * 1024 + 64) /* bytes that hold any file */

/* Reads a whole file's text. Lines that are no strikes are counted and skipped; a text that does not
 * begin with the version line gives none and counts as one; what does not fit is left out. */
void cvy_strikes_parse(const char *text, cvy_strikes *out);
/* The file's text; CVY_STRIKES_TEXT bytes suffice. */
void cvy_strikes_format(const cvy_strikes *strikes, char *text, size_t size);

/* Adds what->count strikes at the time what->last, as the list's last place; what is forgiven by then
 * goes. A full list loses its oldest place. Separators and line ends in texts become '/'. */
void cvy_strikes_add(cvy_strikes *strikes, const cvy_strike *what);
/* Forgets the places of devices in whose name `device` occurs, NULL: all. */
void cvy_strikes_forget(cvy_strikes *strikes, const char *device);

/* Where a device stands with a class of shapes. `limit` strikes are one too many (CVY_STRIKE_LIMIT).
 * *why gets the latest strike that counts, NULL at CVY_RUNG_TUNED. */
cvy_rung cvy_strikes_rung(const cvy_strikes *strikes, const char *device, const char *driver,
                          const char *shape_class, int64_t now, int32_t limit,
                          const cvy_strike **why);

/* The same for people: a line for each place whose device's name contains `device` (NULL: all). */
void cvy_strikes_describe(const cvy_strikes *strikes, const char *device, int64_t now,
                          int32_t limit, char *text, size_t size);

#endif
