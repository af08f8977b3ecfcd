/* A script carried out by the library: captured, with its cuts or without, and run. */
#ifndef CARRY_H
#define CARRY_H

#include "captures/script.h"
#include "convoy/convoy.h"

typedef struct carrier {
  convoy_context *context;
  convoy_program *program[OPERATIONS];
} carrier;

typedef struct carried {
  convoy_tensor *tensor[SLOTS]; /* NULL: freed */
  convoy_graph *graph;
  convoy_status status[MOST_STEPS]; /* of each step */
  char sentence[MOST_STEPS][120];   /* and why */
} carried;

void carrier_open(const char *device, const char *passes, bool failover, carrier *out);
void carrier_close(carrier *c);

/* A step that is refused is left out. False: something else was, and the sentence is printed. */
bool carry_capture(const carrier *c, const script *s, bool cuts, carried *out);
/* Some of what is written is lent, until the end of the stage or run. */
void carry_write(const carried *a, const script *s, int time, int slot);
void carry_return_lent(const carrier *c);
bool carry_read(const carried *a, int slot, float *values);
void carry_free(carried *a);

#endif
