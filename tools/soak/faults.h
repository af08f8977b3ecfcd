/* Says when and where faults strike during a soak. */
#ifndef SOAK_FAULTS_H
#define SOAK_FAULTS_H

#include "common/options.h"
#include "faults/layer/control.h"
#include "faults/layer/rules.h"

typedef struct soak_faults {
  faults_control *control; /* NULL: no faults */
  bool wanted[FAULT_ACTIONS];
  uint64_t random;
  uint64_t calls[FAULTS_ENTRIES]; /* at the beginning of the step */
  uint32_t struck;                /* so far */
  char rule[128];                 /* under way; "" if none */
} soak_faults;

/* Takes "none", "all" or names of actions. If it returns false, it has said why on stderr. */
bool soak_faults_read(const words *names, soak_faults *out);
bool soak_faults_any(const soak_faults *faults);   /* whether any is wanted */
bool soak_faults_wrong(const soak_faults *faults); /* whether data will be falsified */
/* Sets the environment for the layer and maps the file in `folder`. It must come before any worker
 * starts. */
bool soak_faults_start(soak_faults *faults, const char *folder, uint64_t seed);
/* Before a step, makes a fault strike at a random call of it, in one of six steps. */
void soak_faults_arm(soak_faults *faults);
/* Returns how many struck since the last question. */
int soak_faults_struck(soak_faults *faults);
void soak_faults_end(soak_faults *faults);

#endif
