/* A context: the CPU engine, at most one device, and what belongs to them.
 *
 * Everything in it is guarded by its lock; a public call holds the lock from cvy_enter to
 * cvy_leave, so operations of a context have one order. Contexts are used again, never freed: that
 * is how a closed one can be told from an open one. */
#ifndef CVY_CONTEXT_H
#define CVY_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/exec/free_list.h"
#include "core/fallback.h"
#include "core/faults/blackbox.h"
#include "core/faults/degradation.h"
#include "core/faults/report.h"
#include "core/options.h"
#include "core/tune/compile_workers.h"
#include "core/verify/verification.h"

typedef struct cvy_store cvy_store;
typedef struct cvy_host_allocation cvy_host_allocation;
typedef struct cvy_capture cvy_capture;
typedef struct cvy_node cvy_node;

/* What the public call that holds the lock has done so far. */
typedef struct cvy_call {
  double start;
  double budget;            /* seconds it may still wait for the device, see cvy_open_options */
  cvy_spent spent;          /* where they went */
  const cvy_engine *engine; /* that carried out the last operation; NULL: nothing to carry out */
  cvy_choice choice;
  int32_t faults; /* attempts that came to nothing, for whatever reason */
  convoy_status first_fault;
  char sentence[256]; /* of the first fault */
  int32_t failovers;  /* operations computed elsewhere; of many only the first have a line each */
  bool interruptible;
  bool only_here; /* what the device does not do is an error */
} cvy_call;

/* Stores whose values are on their way to the host, in the order of their tickets. */
enum { CVY_FETCHES = 1024 };
typedef struct cvy_fetches {
  cvy_store *store[CVY_FETCHES];
  int32_t count;
} cvy_fetches;

/* Numbers that programs read (core/constants.h), in a ring. */
enum { CVY_CONSTANTS = 64 };
typedef struct cvy_constants {
  convoy_tensor *tensor[CVY_CONSTANTS];
  int32_t next;
} cvy_constants;

/* Device memory that graphs use for what they make on their way (graph/shared_memory.h). */
typedef struct cvy_shared_blocks {
  cvy_store **block;
  int32_t count, plans; /* blocks; plans that use them */
} cvy_shared_blocks;

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
  bool suspended;    /* the device could not be had back yet; a later call tries again */
  bool behind;       /* it is suspended because it is still compiling (CVY_BEHIND_STILL) */
  int32_t asides;    /* how often it has been so far */
  bool hushed;       /* that, and what is computed elsewhere for it, has been said often enough */
  bool wants_cpu;    /* the CPU engine is what was asked for */
  bool lost;         /* the device failed for good and failover is off: operations fail */
  char lost_sentence[256];
  cvy_fallback fallback;  /* the CPU engine in place of what was asked for */
  char chosen[320];       /* why it is this device */
  uint64_t last_id;       /* of arrays */
  uint64_t last_ticket;   /* the device has accepted commands up to here */
  uint64_t faults_met;    /* by which what the device was told once may have got lost */
  uint64_t last_plan;     /* number of the newest plan that the device was given */
  uint64_t stream;        /* a framework's, where its commands go, ... */
  bool has_stream;        /* ...if there is one */
  uint64_t foreign_moves; /* how often tensors have got other foreign memory */
  int64_t step;           /* of the training, from convoy_mark_step */
  volatile int interrupt;
  uint64_t seed, draws; /* of random numbers, and operations that have had some since it was set */

  cvy_blackbox box;    /* of the device */
  cvy_ring ring;       /* the last commands to it */
  bool low_memory;     /* exec/low_memory.c is at work: a lack of memory is its business */
  bool nonfinite_seen; /* nan_watch has said what it says once */

  cvy_compile_workers *compile_workers; /* of the device; NULL: none */
  uint64_t precompile_from;             /* first command not looked at yet, 0: none */

  cvy_chooser chooser;
  cvy_degradation degradation;
  cvy_verification verification;
  cvy_store *stores; /* all alive */
  cvy_store *spare;  /* memory of stores that have gone */
  int32_t spares;
  cvy_fetches fetches;                   /* of them */
  cvy_free_list memory;                  /* for their values */
  cvy_host_allocation *host_allocations; /* from convoy_host_alloc */
  cvy_constants constants;
  cvy_capture *capture; /* that is open; NULL: operations are carried out */
  cvy_shared_blocks shared;
  int32_t run_depth; /* of what a graph's run makes, while one is carried out; else 0 */
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
/* Drops a reference; the last one makes the context available to cvy_pool_take. */
void cvy_pool_drop(convoy_context *context);

/* ------------------------------------------------------------------------------- context.c */

convoy_status cvy_open(const convoy_options *given, convoy_context **out);
void cvy_close(convoy_context *context);

convoy_status cvy_force_algorithm(convoy_context *context, const char *name);
convoy_status cvy_plan_problem(convoy_context *context, const char *name,
                               const cvy_problem *problem, convoy_plan *out);
convoy_status cvy_measure_peak(convoy_context *context, double *gflops, double *gigabytes);

/* ---------------------------------------------------------------------------------- call.c */

/* Locks; ERR_ARGUMENT if the context is NULL or closed, then without the lock. */
convoy_status cvy_enter(convoy_context *context);
/* Unlocks, delivers queued events, returns `status` with its sentence unchanged. */
convoy_status cvy_leave(convoy_context *context, convoy_status status);
/* For what is legal after closing: no check. What the call does is counted anew. */
void cvy_lock(convoy_context *context);
void cvy_unlock(convoy_context *context);

/* -------------------------------------------------------------------------------- device.c */

/* Where operations go now: the device, else the CPU engine. */
const cvy_engine *cvy_context_engine(const convoy_context *context);

/* -------------------------------------------------------------------------------- health.c */

/* Of what comes again and again so many have a line of log each. */
enum { CVY_LINES = 3 };
/* One line of log, one counter, one event. `algorithm` may be "". */
void cvy_report(convoy_context *context, convoy_event_kind kind, convoy_status status,
                const char *algorithm, const char *format, ...) CVY_PRINTF(5, 6);
/* A call ends: a line for what has had none. */
void cvy_report_rest(convoy_context *context);
/* Takes the queued events away; the caller frees them. */
convoy_event *cvy_take_events(convoy_context *context, int32_t *count);
/* The device is about to go; what it has counted stays. */
void cvy_health_keep_counts(convoy_context *context);
void cvy_health_collect(const convoy_context *context, convoy_health *out);

/* -------------------------------------------------------------------------------- memory.c */

convoy_status cvy_host_alloc(convoy_context *context, size_t bytes, void **out);
/* False: it was not allocated from this context. Else the caller drops a reference to it. */
bool cvy_host_free(convoy_context *context, void *memory);
/* Whether [at, at + bytes) lies in memory that the device's process reaches too. */
bool cvy_host_has(const convoy_context *context, const void *at, int64_t bytes);
/* The device is about to go; what was allocated stays valid. */
void cvy_host_allocations_orphan(convoy_context *context);

#endif
