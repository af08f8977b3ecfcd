/* A device in memory whose faults follow a script: what core does when a device fails, hangs on to
 * work, or lies about nothing, is tested with it. Commands are only carried out when somebody
 * waits, as late as the contract allows. It computes with the CPU engine's direct algorithm.
 *
 * The program's cvy_backends are the CPU engine and this one ("fake:0", a processor; "fake:1", a
 * GPU called "Fake GPU One"). */
#ifndef FAKE_H
#define FAKE_H

#include "backend.h"

/* Some are no lies: FAKE_ROUNDED results are rounded the other way, FAKE_KEPT and FAKE_FLUSHED ones
 * are those of a device that keeps denormal numbers, and of one that takes them for 0. */
typedef enum fake_lie {
  FAKE_HONEST,
  FAKE_WRONG,
  FAKE_ZERO,
  FAKE_NAN,
  FAKE_UNWRITTEN,
  FAKE_ROUNDED,
  FAKE_KEPT,
  FAKE_FLUSHED
} fake_lie;

enum { FAKE_COPIES = 32 }; /* that it fetches at once, at most */

typedef struct fake_script {
  int64_t fail_at;  /* the command of this number fails, 0: none; counted from fake_reset */
  int64_t failures; /* so many commands from fail_at on fail, each time after a clear */
  convoy_status fail_status; /* CONVOY_ERR_DEVICE by default */
  bool dies;                 /* and the device is gone for good */
  bool refuses_at_once;      /* the failing command says so itself instead of the next wait */
  convoy_status list_status, open_status;
  bool empties;         /* a clear loses all arrays */
  int64_t suspensions;  /* so many clears say: not now, and lose all arrays */
  bool worker_gone;     /* it lies in no process any more */
  int32_t gone;         /* so many of its devices, the last first, are not there */
  const char *name;     /* of fake:1; NULL: Fake GPU One */
  const char *driver;   /* of all; NULL: 1.0 */
  bool no_gpu;          /* fake:1 is a processor too */
  bool simulator;       /* fake:0 is one */
  bool refuses_all;     /* no algorithm takes anything */
  bool tiles_are_slow;  /* fake.tiled does not pay */
  bool interrupts;      /* waits that may be interrupted are, once */
  bool fetches;         /* reads in two halves */
  bool shared_memory;   /* has host_alloc */
  bool exhausted_hosts; /* host_alloc gives NULL */
  fake_lie lie;         /* what it does to results */
  bool honest_calls;    /* of jobs in plans only */
  uint32_t lie_rows;    /* of the algorithms in these rows, as bits; 0: of all */
  int64_t lie_one_of;   /* FAKE_WRONG: one of so many elements, chosen anew for each result */
  int64_t lie_element;  /* with lie_one_of 0: this element only */
  int32_t lie_output;   /* and of which result */
  void (*on_run)(const cvy_job *job); /* called for each job carried out; may be NULL */
  int64_t compiled;                   /* programs it says it has compiled since it was opened */
  convoy_status build_status;         /* of each build */
  bool builds_hang;                   /* until they are interrupted */
  volatile int builds_stuck;          /* until this is 0 again, whatever happens */
  double wait_seconds;                /* that it says each wait took */
  const char *bus;                    /* where both devices are; NULL: not known */
  int64_t capacity; /* bytes of its memory, the workspace of a job included; 0: no end of it */
} fake_script;

typedef struct fake_counts {
  int64_t lists, opens, closes, commands, runs, clears, deaths;
  int64_t plan_runs, plans;           /* runs of plans; plans that are there */
  int64_t builds[CVY_MAX_OPERATIONS]; /* asked for, by compile workers, on devices of their own */
  int64_t arrays;                     /* alive on all devices */
  int64_t host_blocks;                /* alive */
  int64_t copies;                     /* fetched and not collected */
  double budget;                      /* that the newest command found */
} fake_counts;

extern fake_script fake;
extern fake_counts fake_seen;

/* No faults, counters 0. Call with no device open. */
void fake_reset(void);

/* From now on, until the next reset, devices take plans. Each step counts as a command of the
 * script, and on_run is not called. */
void fake_takes_plans(void);

/* fake_lies.c: the results of a job that has been carried out, which are on the host. */
void fake_lies(const cvy_job *job);

#endif
