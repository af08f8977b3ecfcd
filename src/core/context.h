/* A context: the CPU engine, at most one device, and what belongs to them.
 *
 * Everything in it is guarded by its lock; a public call holds the lock from cvy_enter to cvy_leave,
 * so operations of a context have one order. Contexts are recycled, never freed: that is how a
 * closed one can be told from an open one. */
#ifndef CVY_CONTEXT_H
#define CVY_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/blackbox.h"
#include "core/builders.h"
#include "core/fallback.h"
#include "core/options.h"
#include "core/recycle.h"
#include "core/report.h"
#include "core/trust.h"

typedef struct cvy_store cvy_store;
typedef struct cvy_block cvy_block;

/* What the public call that holds the lock has done so far. */
typedef struct cvy_call {
  double start;
  double budget;            /* seconds it may still wait for the device, see cvy_open_options */
  const cvy_engine *engine; /* that carried out the last operation; NULL: nothing to carry out */
  cvy_choice choice;
  int32_t faults;
  convoy_status first_fault;
  char sentence[256]; /* of the first fault */
  bool interruptible;
} cvy_call;

/* Stores whose values are on their way to the host, in the order of their tickets. */
enum { CVY_COMMITS = 64 };
typedef struct cvy_commits {
  cvy_store *store[CVY_COMMITS];
  int32_t count;
} cvy_commits;

struct convoy_context {
  pthread_mutex_t lock;
  convoy_context *next;  /* all contexts ever made */
  bool held;             /* by the thread that forks; from here on the pool clears it for reuse */
  atomic_int references; /* 1 while open, 1 for each tensor and block of host memory */
  atomic_bool open;
  bool forked; /* this is a child's copy and has not been used yet */

  cvy_options options;
  cvy_engine cpu;
  cvy_engine device; /* .device NULL: none; then operations run on the CPU engine */
  bool resting;      /* the device could not be mended yet; a later call tries again */
  bool wants_cpu;    /* the CPU engine is what was asked for */
  bool lost;         /* the device failed for good and failover is off: operations fail */
  char lost_sentence[256];
  cvy_fallback fallback; /* the CPU engine in place of what was asked for */
  char chosen[320];      /* why it is this device */
  uint64_t last_id;      /* of arrays */
  uint64_t last_ticket;  /* the device has accepted commands up to here */
  int64_t step;          /* of the training, from convoy_mark_step */
  volatile int interrupt;

  cvy_blackbox box;    /* of the device */
  cvy_ring ring;       /* the last commands to it */
  bool squeezing;      /* cvy_squeeze is at work: a lack of memory is its business */
  bool nonfinite_seen; /* nan_watch has said what it says once */

  cvy_builders *builders; /* of the device; NULL: none */
  uint64_t foreseen;      /* first command since foresight last looked what was compiled, 0: none */

  cvy_chooser chooser;
  cvy_trust trust;
  cvy_store *stores;   /* all alive */
  cvy_commits commits; /* of them */
  cvy_recycler memory; /* for their values */
  cvy_block *blocks;   /* from convoy_host_alloc */
  cvy_call call;

  convoy_health health; /* the counters core keeps itself */
  convoy_event_fn *event_fn;
  void *event_user;
  convoy_event *events; /* queued for delivery; a few also while there is no callback */
  int32_t event_count, event_capacity;
};

/* ---------------------------------------------------------------------------------- pool.c */

/* A closed context with one reference and a fresh lock, or NULL. */
convoy_context *cvy_pool_take(void);
/* Gives up a reference; the last one makes the context available to cvy_pool_take. */
void cvy_pool_drop(convoy_context *context);

/* ------------------------------------------------------------------------------- context.c */

convoy_status cvy_open(const convoy_options *given, convoy_context **out);
void cvy_close(convoy_context *context);

/* Locks; ERR_ARGUMENT if the context is NULL or closed, then without the lock. */
convoy_status cvy_enter(convoy_context *context);
/* Unlocks, delivers queued events, returns `status` with its sentence unchanged. */
convoy_status cvy_leave(convoy_context *context, convoy_status status);
/* For what is legal after closing: no check. Begins the record of a call. */
void cvy_lock(convoy_context *context);
void cvy_unlock(convoy_context *context);

/* Where operations go now: the device, else the CPU engine. */
const cvy_engine *cvy_context_engine(const convoy_context *context);
convoy_status cvy_force_algorithm(convoy_context *context, const char *name);
convoy_status cvy_plan(convoy_context *context, const char *name, const cvy_problem *problem,
                       convoy_plan *out);
convoy_status cvy_measure_peak(convoy_context *context, double *gflops, double *gigabytes);

/* -------------------------------------------------------------------------------- health.c */

/* One line of log, one counter, one event. `algorithm` may be "". */
void cvy_report(convoy_context *context, convoy_event_kind kind, convoy_status status,
                const char *algorithm, const char *format, ...) CVY_PRINTF(5, 6);
/* Takes the queued events away; the caller frees them. */
convoy_event *cvy_take_events(convoy_context *context, int32_t *count);
/* The device is about to go; what it has counted stays. */
void cvy_health_keep_counts(convoy_context *context);
void cvy_health_collect(const convoy_context *context, convoy_health *out);

/* -------------------------------------------------------------------------------- memory.c */

convoy_status cvy_host_alloc(convoy_context *context, size_t bytes, void **out);
/* Takes the lock itself: legal after closing. */
void cvy_host_free(convoy_context *context, void *memory);
/* Whether [at, at + bytes) lies in memory that the device's process reaches too. */
bool cvy_host_has(const convoy_context *context, const void *at, int64_t bytes);
/* The device is about to go; its blocks stay valid. */
void cvy_blocks_orphan(convoy_context *context);

#endif
