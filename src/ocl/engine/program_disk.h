/* Compiled programs on disk. `key` names the entry. */
#ifndef CVY_OCL_ENGINE_PROGRAM_DISK_H
#define CVY_OCL_ENGINE_PROGRAM_DISK_H

#include "base/base.h"

/* The entry, malloc'ed. NULL: there is none, or it was damaged and is deleted now. */
void *program_load(uint64_t key, size_t *bytes);
/* A failure to store is logged, nothing more. */
void program_store(uint64_t key, const void *binary, size_t bytes);
void program_forget(uint64_t key);
/* Whether there is an entry; it may be damaged. */
bool program_is_stored(uint64_t key);
/* A process that compiles an entry locks it, so that others wait for it instead of compiling it
 * too. A process that dies lets go. -1: it was not to be had within `seconds`, or there is no
 * cache. */
int program_lock(uint64_t key, double seconds);
void program_unlock(uint64_t key, int lock);
/* While the driver loads an entry it is on trial: one that takes the process along is found so by
 * the next process, and deleted. -1: it is not on trial. */
int program_try(uint64_t key);
void program_tried(uint64_t key, int trial);

#endif
