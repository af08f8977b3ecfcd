/* The parts of `convoy soak`: the network (soak_net.c), its check (soak_check.c), the faults
 * (soak_faults.c) and what the process uses (soak_usage.c). */
#ifndef SOAK_H
#define SOAK_H

#include "faults/layer/control.h"
#include "faults/layer/rules.h"
#include "options.h"
#include "problem.h"
#include "progress.h"

/* ------------------------------------------------------------------------ soak_net.c */

enum { SOAK_LAYERS = 5, SOAK_PARTS = 2 }; /* a batch is done in parts; gradients add up */

typedef enum soak_array {
  SOAK_X, /* input, weights, bias, output, and the gradient of each */
  SOAK_W,
  SOAK_B,
  SOAK_Y,
  SOAK_DX,
  SOAK_DW,
  SOAK_DB,
  SOAK_DY,
  SOAK_ARRAYS
} soak_array;

typedef struct soak_layer {
  problem about;
  bool leaky;  /* leaky ReLU in the epilogue */
  bool linked; /* its input is the output of the layer before, on the device */
  int64_t count[SOAK_ARRAYS];
  float *host[SOAK_ARRAYS]; /* of the parameters those both go on from, else what the device made */
  convoy_tensor *tensor[SOAK_ARRAYS];
  float *target;   /* of the last layer's output, else NULL */
  double *dw, *db; /* the CPU's gradients, summed over the parts */
  double *dw_bound, *db_bound;
} soak_layer;

typedef struct soak_net {
  convoy_context *device, *cpu;
  soak_layer layer[SOAK_LAYERS];
  uint64_t seed;
  double loss;       /* of the part at hand, by the device's output */
  double total_loss; /* of the step */
  double longest;    /* seconds of the longest call on the device's context */
  char why[256];     /* sentence of the call that failed */
} soak_net;

extern const float soak_slope; /* of leaky ReLU */

bool soak_net_make(soak_net *net, convoy_context *device, convoy_context *cpu, uint64_t seed);
void soak_net_free(soak_net *net);
/* One part of step `step` on the device: forward, loss, backward; then all of the part's arrays but
 * the parameters' gradients are in host[]. */
convoy_status soak_net_part(soak_net *net, uint64_t step, int part);
/* The parameters' gradients, summed on the device over the parts. */
convoy_status soak_net_gradients(soak_net *net);
/* Goes on from the weights that the CPU's gradients give. */
void soak_net_learn(soak_net *net);

/* ---------------------------------------------------------------------- soak_check.c */

/* Computes each operation of the part on the CPU, from the operands that the device had, and counts
 * the elements of results that are beyond the operation's bound. -1: the CPU failed. */
int64_t soak_check_part(soak_net *net, int part);
/* The same for the summed gradients. */
int64_t soak_check_gradients(soak_net *net);

/* --------------------------------------------------------------------- soak_faults.c */

typedef struct soak_faults {
  faults_control *control; /* NULL: no faults */
  bool wanted[FAULT_ACTIONS];
  uint64_t random;
  uint64_t calls[FAULTS_ENTRIES]; /* at the beginning of the step */
  uint32_t struck;                /* so far */
  char rule[128];                 /* under way; "" if none */
} soak_faults;

/* "none", "all" or names of actions. False: said why on stderr. */
bool soak_faults_read(const words *names, soak_faults *out);
bool soak_faults_any(const soak_faults *faults);   /* whether any is wanted */
bool soak_faults_wrong(const soak_faults *faults); /* whether data will be falsified */
/* Sets the environment for the layer and maps the file in `folder`; before any worker starts. */
bool soak_faults_start(soak_faults *faults, const char *folder, uint64_t seed);
/* Before a step: makes a fault strike at a random call of it, every eighth step or so. */
void soak_faults_arm(soak_faults *faults);
/* How many struck since the last question. */
int soak_faults_struck(soak_faults *faults);
void soak_faults_end(soak_faults *faults);

/* ---------------------------------------------------------------------- soak_usage.c */

/* What the process uses once everything has been seen, and what grows from then on. */
typedef struct soak_usage {
  int warm, steps;                /* steps until everything has been seen; steps done */
  int64_t rss_before, rss_growth; /* KiB */
  int descriptors_before, descriptors_growth;
} soak_usage;

/* After each step, and before the first with 0. */
void soak_usage_note(soak_usage *uses, int steps);
void soak_usage_end(soak_usage *uses);
/* Whether more grew than may, with what and how much in `why`. Of a run too short to tell: false. */
bool soak_usage_grew(const soak_usage *uses, char *why, size_t size);

#endif
