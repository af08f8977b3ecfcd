/* The contract of a backend: a way to carry out problems on devices.
 *
 * Three things implement it: the CPU engine (src/cpu), the OpenCL engine (src/ocl/engine, in the
 * module convoy-ocl.so) and the lane to a worker process (src/worker), which forwards every entry
 * to the OpenCL engine on the other side. Core knows only this file; backends.c names the backends.
 *
 * Tables. What an algorithm accepts, its parameters and its workspace are pure functions of problem
 * and device facts; they live in libconvoy for all backends. An algorithm's place in the table of
 * its backend is what a job carries, so library and worker must be of one build. */
#ifndef CVY_BACKEND_H
#define CVY_BACKEND_H

#include "command.h"

/* ------------------------------------------------------------------------- what a device is */

/* What an engine reaches a device through. */
enum cvy_runtime { CVY_RUNTIME_OPENCL, CVY_RUNTIME_HIP, CVY_RUNTIME_CUDA, CVY_RUNTIMES };

/* Plain data, copied through shared memory. */
typedef struct cvy_facts {
  convoy_device_info info;
  int64_t local_memory_bytes;
  int64_t max_work_group;     /* items */
  int64_t preferred_multiple; /* SIMD width the compiler likes: 32, 64; 1 on processors */
  int64_t max_allocation_bytes;
  int64_t workspace_limit; /* from the context's options: bytes one job may use */
  int64_t memory_limit;    /* and bytes of device memory that all may have; 0: all there is */
  int32_t runtime;         /* enum cvy_runtime */
  char bus[20];            /* where the card is, "0000:3b:00.0"; "": not known */
} cvy_facts;

/* Bytes of device memory that there are for all; 0: nobody knows. */
static inline int64_t cvy_facts_memory(const cvy_facts *facts) {
  return facts->memory_limit > 0 ? facts->memory_limit : facts->info.memory_bytes;
}

/* ------------------------------------------------------------------------------- algorithms */

/* One tunable parameter and the values it may take in ascending order, ended by 0. */
typedef struct cvy_param {
  const char *name;
  int32_t values[12];
} cvy_param;

/* None of its functions is ever given a problem without images (cvy_problem_empty): engines set
 * what is summed over none to 0 without a row. */
typedef struct cvy_algorithm {
  /* "ocl.implicit_gemm": file = row = name suffix; stable, tuning files store it */
  const char *name;
  uint64_t operations; /* CVY_OPERATION_BIT of each that it does */

  /* Whether it is for such a device at all: it may call a library that not all can use. If not,
   * adds the reason, for which it then accepts no problem. NULL: it is for all. */
  bool (*serves)(const cvy_facts *facts, cvy_text *reason);

  /* Whether it takes the problem. If not, writes the reason, with numbers, and returns false.
   * Whoever asks has checked `operations` before. NULL: takes everything. */
  bool (*accepts)(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason);

  /* Bytes of scratch it uses, never more than facts->workspace_limit if it accepted. NULL: none. */
  int64_t (*workspace)(const cvy_problem *problem, const cvy_facts *facts,
                       const cvy_params *params);

  /* Parameters: at most CVY_MAX_PARAMS, list ended by a NULL name; NULL: none. `defaults` always
   * gives valid values; `valid` says whether a combination may run on this device. */
  const cvy_param *params;
  uint32_t launch_params; /* bit (1u << place) for each that changes the launch, not the program */
  uint32_t space_params;  /* and for each that with 2 has the extents of space compiled in */
  void (*defaults)(const cvy_problem *problem, const cvy_facts *facts, cvy_params *out);
  bool (*valid)(const cvy_params *params, const cvy_problem *problem, const cvy_facts *facts);

  /* Whether it is likely to be faster than the rows after it. Where it says no the row is passed
   * over, but may still be forced and measured. NULL: always. */
  bool (*pays)(const cvy_problem *problem, const cvy_facts *facts);

  /* Simple enough to be tried, with its default parameters, where others have failed. */
  bool conservative;

  /* For rows that mix neighbouring values (Winograd): how far their results may be from the exact
   * ones, as convoy.h says under Accuracy. They run only where options.winograd allows it, with
   * stride 1. 0: results keep the bound that every result keeps. */
  double error_growth;
  int64_t error_reach;
} cvy_algorithm;

static inline bool cvy_algorithm_serves(const cvy_algorithm *algorithm, const cvy_facts *facts) {
  char unread[192];
  cvy_text reason = cvy_text_in(unread, sizeof unread);
  return !algorithm->serves || algorithm->serves(facts, &reason);
}
static inline bool cvy_algorithm_does(const cvy_algorithm *algorithm, const cvy_problem *problem) {
  return algorithm->operations >> problem->operation & 1;
}

typedef struct cvy_usage {
  int64_t bytes, bytes_peak, bytes_held; /* device memory: in use, high-water mark, held */
  int64_t programs_compiled, programs_cached;
  int64_t host_bytes;        /* staging, rings, workspaces */
  int64_t retired_bytes;     /* memory a lost worker could still write */
  int64_t workers_abandoned; /* workers that could not be ended */
  uint32_t process;          /* worker's pid, 0 without one */
  int64_t stalls;            /* times a thread made no progress for too long */
} cvy_usage;

/* Where the time went that a public call has waited for the device. */
typedef struct cvy_spent {
  double whole;     /* seconds that the call had when it began */
  double once;      /* of those waited: for programs to be compiled, and for kernels' first runs */
  bool is_new;      /* some of that was seen for certain, or the call does what is new */
  int64_t programs; /* that were begun to be compiled meanwhile */
} cvy_spent;

typedef struct cvy_open_options {
  int32_t threads;         /* CPU engine: 0 = as many as the process may use */
  convoy_team *team;       /* CPU engine: whose threads; NULL = its own. Of this process only */
  int32_t isolation;       /* lane: convoy_isolation, resolved */
  int64_t workspace_limit; /* bytes */
  int64_t memory_limit;    /* of a device, bytes; 0: none */
  double *budget;          /* seconds the public call may still wait for the device: waits, also
                              later ones, are taken off. NULL: not bounded. Of this process only */
  cvy_spent *spent;        /* the same call's, of this process only. NULL: nobody asks */
  const volatile int
      *interrupt;    /* polled while an answer is waited for: ERR_INTERRUPTED, and the
                  device is only good for closing. NULL: nobody interrupts. Of this process only */
  double dispatch;   /* seconds one kernel launch should not exceed; 0: the engine's choice */
  double build_wait; /* seconds to wait for another process that compiles the same program */
} cvy_open_options;

/* ---------------------------------------------------------------------------------- backend */

typedef struct cvy_device cvy_device; /* each backend has its own */

/* A device that was still compiling, or running kernels for the first time, when a call's time was
 * over is no device that failed. It is left to itself: it compiles what it has been given, carries
 * out nothing more of it, and its commands fail until CVY_CLEAR, which finds it empty. */
typedef enum cvy_behind {
  CVY_BEHIND_NOT, /* what fails has failed */
  CVY_BEHIND_STILL,
  CVY_BEHIND_DONE /* it has compiled all of it: CVY_CLEAR would not wait */
} cvy_behind;

/* Does [begin, end) of what a backend's threads share. */
typedef void cvy_range_task(void *arg, int64_t begin, int64_t end);

#define CVY_MARK_TOLD "told to end"

#define CVY_PACK_BYTES ((int64_t)8 << 20)

/* A part of an array that is written: from byte `at` on. */
typedef struct cvy_packed {
  int64_t at, bytes;
  const void *from;
} cvy_packed;

/* Calls to one device come one at a time (core holds its lock), from any thread.
 *
 * Device backends (host_memory false) execute commands in the order of their calls; calls may
 * return before the command is carried out. A command that fails makes the device faulted: the
 * failing and all later commands have no effect until CVY_CLEAR; `wait` reports the fault. Tickets
 * count commands: after a fault whose number is F, results of tickets < F are good and of tickets
 * >= F are not. */
typedef struct cvy_backend {
  const char *name;         /* "cpu", "ocl": prefix of its algorithms and device ids */
  const char *const *kinds; /* further prefixes of device ids, ended by NULL; NULL: none */
  bool host_memory; /* jobs take host pointers, run at once; no arrays: the entries marked [d] are
                       NULL */
  const cvy_algorithm *const *algorithms; /* ended by NULL, preferred first */
  uint64_t commands;                      /* CVY_COMMAND_BIT of each kind that core may give it */

  /* ERR_ARGUMENT where a variable of the environment that the backend reads says what it may not:
   * looked at whichever device is opened. NULL: it reads none. */
  convoy_status (*check)(void);
  /* Facts of the devices there are, at most `capacity`; *count gets the number there are. */
  convoy_status (*list)(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                        int32_t *count);
  /* Opens device `index` of the list. */
  convoy_status (*open)(int32_t index, const cvy_open_options *options, cvy_device **out);
  /* Ends everything, unconditionally and in bounded time; outstanding commands are dropped. */
  void (*close)(cvy_device *device);
  /* [d] A file that says the device is in use. Where the device lives in another process, that one
   * removes it when this one ends without closing the device, and appends a line, CVY_MARK_TOLD
   * with a date, when it is told to end (SIGTERM): as a rule that means all processes. NULL: it
   * does not. */
  void (*mark)(cvy_device *device, const char *file);
  const cvy_facts *(*facts)(const cvy_device *device);

  /* Carries out a command, or takes it to be carried out. `reply` may be NULL where there is none;
   * `ticket`, which may be NULL, changes with commands that have one. ERR_UNSUPPORTED, which is no
   * fault, for kinds that it does not take. */
  convoy_status (*execute)(cvy_device *device, const cvy_command *command, cvy_reply *reply,
                           uint64_t *ticket);

  /* [d] Copies host memory in; the source may change when it returns. */
  convoy_status (*write)(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                         uint64_t *ticket);
  /* [d] The same for parts of the array, of which `bytes` are written, CVY_PACK_BYTES at most: what
   * lies between the parts is undefined then. */
  convoy_status (*pack)(cvy_device *device, uint64_t id, int32_t count, const cvy_packed *parts,
                        int64_t bytes, uint64_t *ticket);
  /* [d] Copies out, waiting for everything enqueued before. */
  convoy_status (*read)(cvy_device *device, uint64_t id, void *to, int64_t bytes);
  /* [d] Reading in two halves, so that nobody waits for the transfer. `fetch` asks for a copy of
   * the array as the commands before leave it; *ticket is its command, 0 if there is no room for
   * it, at all or before others are collected. `fetched`: whether `collect` would not wait.
   * `collect` hands the copy out, once; with `to` NULL it is not wanted any more, which never
   * fails. All NULL: there is only `read`. */
  convoy_status (*fetch)(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket);
  bool (*fetched)(const cvy_device *device, uint64_t ticket);
  convoy_status (*collect)(cvy_device *device, uint64_t ticket, void *to, int64_t bytes);
  /* [d] Host memory that many transfers will come from and go to: the engine may prepare it, so
   * that they are faster. Withdraw it before it is given back; closing the device withdraws all. A
   * failure costs speed only. NULL: there is nothing to prepare. */
  void (*host_offer)(cvy_device *device, void *memory, int64_t bytes);
  void (*host_withdraw)(cvy_device *device, void *memory);
  /* [d] The step of a plan that ticket `ticket` was, from 0 on; -1: none, or it is too long ago. Of
   * the lane, whose tickets are whole commands: the step that the last fault came from. NULL: there
   * are no plans. */
  int32_t (*plan_step)(const cvy_device *device, uint64_t ticket);

  /* [d] Looks, without waiting, whether the device is behind, and still gets on: where it does not,
   * it fails now. `at` (may be NULL) gets the job that it is at, as far as that is known, else one
   * whose algorithm is -1. NULL: it never is behind. */
  cvy_behind (*behind)(cvy_device *device, cvy_job *at);
  /* [d] Waits until command `ticket` is under way, so that all it needed is compiled. Fails as wait
   * does, which then says more. NULL: there is nothing to compile. */
  convoy_status (*begun)(cvy_device *device, uint64_t ticket, const volatile int *interrupt);

  /* [d] Waits until all commands up to `ticket` are done. On a fault among them returns its status
   * and sentence (cvy_fail) and writes its number. `interrupt`, polled while waiting, may be
   * NULL. Like every wait it fails with ERR_DEADLINE once the options' budget is spent, and where
   * the device makes no progress within the backend's own deadlines. */
  convoy_status (*wait)(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                        uint64_t *fault);
  /* [d] Looks, without waiting, how far the device is, and tells its observer. False: looking again
   * would show nothing new before the next command. NULL: it cannot say. */
  bool (*poll)(cvy_device *device);
  /* [d] Host memory that the device's process can reach without a copy; `read` and `write`
   * recognise pointers into it; the device fills it itself, and nothing lands there any more once
   * `read` is back. May be NULL: ordinary memory serves. Memory outlives its device: host_free may
   * come after close, with any `device`, from any thread. */
  void *(*host_alloc)(cvy_device *device, size_t bytes);
  void (*host_free)(cvy_device *device, void *memory);

  /* With device NULL only what outlives devices, for the whole process: retired_bytes,
   * workers_abandoned. */
  void (*usage)(const cvy_device *device, cvy_usage *out);
  /* Parts [0, count) among the threads that jobs run on, and is back when all is done; from inside
   * a part it does all on the calling thread. Only with host_memory. */
  void (*share)(cvy_device *device, int64_t count, cvy_range_task *task, void *arg);
  /* Adds in words whose threads the loops of a device opened with so many threads (0: its default)
   * run on, and which library computes products. NULL: it has no loops in this process. */
  void (*team)(int32_t threads, cvy_text *words);
} cvy_backend;

static inline bool cvy_backend_takes(const cvy_backend *backend, cvy_command_kind kind) {
  return backend->commands >> kind & 1;
}

extern const cvy_backend cvy_backend_cpu;
extern const cvy_backend cvy_backend_ocl; /* the lane: OpenCL in a worker, or in a thread here */

/* What the engine is busy with, as told to the worker: says what a wait is for. */
typedef enum cvy_phase {
  CVY_PHASE_IDLE,
  CVY_PHASE_PROBING,
  CVY_PHASE_OPENING,
  CVY_PHASE_COMPILING,
  CVY_PHASE_LIBRARY, /* somebody else's, which may be compiling */
  CVY_PHASE_TRANSFERRING,
  CVY_PHASE_RUNNING,
  CVY_PHASES
} cvy_phase;

/* How the engine tells the worker how it is getting on. Called on the thread that called the
 * engine. */
typedef struct cvy_engine_observer {
  void *user;
  /* Another phase begins; returns the one before, so that it can be restored. */
  cvy_phase (*phase)(void *user, cvy_phase phase);
  /* The device has finished something; all commands up to `ticket` are done. */
  void (*progress)(void *user, uint64_t ticket);
  /* The newest command runs a kernel for the first time. */
  void (*first_run)(void *user);
} cvy_engine_observer;

/* What a thread had of each runtime before the engine used it. */
typedef struct cvy_visit {
  struct {
    bool there;
    int32_t number;
    void *context;
  } before[CVY_RUNTIMES];
} cvy_visit;

/* What the module convoy-ocl.so exports as "cvy_module_entry": the OpenCL engine, called by the
 * worker's command loop and by nothing else. The module has its own copy of src/base and src/os,
 * hence its own last error, log sink and idea of where relative names begin. Refuse it unless
 * build_id equals cvy_build_id. */
typedef struct cvy_module {
  const char *build_id;
  const cvy_backend *engine;
  const char *(*last_error)(void);
  void (*set_log)(convoy_log_fn *fn, void *user, convoy_log_level level);
  /* Where the calling thread's devices report; NULL: nowhere. */
  void (*set_observer)(const cvy_engine_observer *observer);
  void (*start_in)(const char *folder); /* where relative names begin; before a device is opened */
  /* Around calls of the engine on a thread of somebody else's, who finds there what he had. */
  void (*visit)(cvy_visit *out);
  void (*leave)(const cvy_visit *visit);
} cvy_module;
typedef const cvy_module *cvy_module_entry_fn(void);

/* src/ocl/table.c: the OpenCL algorithms, ended by NULL; the lane and the engine share it. */
extern const cvy_algorithm *const cvy_ocl_algorithms[];

/* backends.c: all of them, in the order `auto` and lists show them, ended by NULL. */
extern const cvy_backend *const cvy_backends[];

#endif
