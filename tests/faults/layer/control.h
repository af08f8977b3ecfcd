/* What the layer shares with the program that steers it: one mapped file. The layer counts calls
 * there, over all processes that use the file, so that a fault strikes once however often a worker
 * is started anew; the program reads the counts and may change the rules while the layer runs. */
#ifndef FAULTS_CONTROL_H
#define FAULTS_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

enum { FAULTS_ENTRIES = 64, FAULTS_RULES_TEXT = 1024, FAULTS_NAME = 48 };

typedef struct faults_control {
  _Atomic uint32_t generation;            /* of the rules; odd while they are being written */
  _Atomic uint32_t struck;                /* faults carried out */
  char rules[FAULTS_RULES_TEXT];          /* grammar: rules.h */
  char last[FAULTS_NAME + 80];            /* the last fault carried out, as a rule */
  char name[FAULTS_ENTRIES][FAULTS_NAME]; /* of the entry points, written by the layer */
  _Atomic uint64_t calls[FAULTS_ENTRIES];
} faults_control;

/* Maps `path`, made if it is not there; NULL path: memory of this process. NULL: failed, errno. */
faults_control *faults_control_open(const char *path);
void faults_control_close(faults_control *control);
/* Other rules from the next call on; "" for none. They must be shorter than FAULTS_RULES_TEXT. */
void faults_control_set(faults_control *control, const char *rules);
/* The rules of an even generation, which is returned. */
uint32_t faults_control_get(faults_control *control, char rules[FAULTS_RULES_TEXT]);
/* Calls of an entry point so far; 0 also for one that the layer does not have. */
uint64_t faults_control_calls(const faults_control *control, const char *entry);
/* All counts 0, no rules. Only while nobody uses the file. */
void faults_control_clear(faults_control *control);

#endif
