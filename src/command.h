/* Commands: what core asks of a device, a value with a struct for each kind. Core fills it in once,
 * the lane posts it, the worker copies it and checks every field (worker/wire.c), and the engine
 * carries it out by its table (ocl/engine/commands.c). */
#ifndef CVY_COMMAND_H
#define CVY_COMMAND_H

#include "problem/operation.h"

#define CVY_MAX_PARAMS 12
typedef struct cvy_params {
  int32_t value[CVY_MAX_PARAMS];
} cvy_params;

/* ------------------------------------------------------------------------------------- jobs */

/* An operand: host memory for backends with host_memory, else a device array by number; number 0
 * or NULL is "absent". */
typedef union cvy_operand {
  float *host;
  uint64_t id;
} cvy_operand;

/* One problem to carry out, its arrays in the order of its operation's row. With problem.accumulate
 * out[0] holds what is added to. What follows the arrays is what the launches of a job depend on.
 */
typedef struct cvy_job {
  cvy_operand in[CVY_MAX_INPUTS], out[CVY_MAX_OUTPUTS];
  int32_t algorithm; /* row in the backend's table */
  int32_t reserved;
  cvy_params params;
  cvy_problem problem; /* the last: only the bytes that count are copied */
} cvy_job;

/* A job without arrays. */
static inline void cvy_job_set(cvy_job *job, const cvy_problem *problem, int32_t algorithm,
                               const cvy_params *params) {
  memset(job, 0, offsetof(cvy_job, problem));
  job->algorithm = algorithm;
  job->params = *params;
  cvy_problem_copy(&job->problem, problem);
}
static inline size_t cvy_job_size(const cvy_job *job) {
  return offsetof(cvy_job, problem) + cvy_problem_size(&job->problem);
}
/* -------------------------------------------------------------------------------------- plans */

/* Operands of a plan's steps that are arrays of their own begin at multiples of so many bytes. */
enum {
  CVY_PLACE_ALIGN = CVY_ARRAY_ALIGN * 4,
  CVY_MAX_BASES = 1 << 15,
  CVY_MAX_TAPS = CVY_MOST_READ + CVY_MAX_OUTPUTS
};

/* An operand of a plan's step in place of an array's number: from byte `at` of the plan's base
 * number `base` on, which is an array by the time the plan runs. */
static inline cvy_operand cvy_place(int32_t base, int64_t at) {
  return (cvy_operand){.id = (uint64_t)(base + 1) << 48 | (uint64_t)at};
}
static inline int32_t cvy_place_base(cvy_operand place) {
  return (int32_t)(place.id >> 48) - 1;
}
static inline int64_t cvy_place_at(cvy_operand place) {
  return (int64_t)(place.id & ((UINT64_C(1) << 48) - 1));
}

/* What the place of an operand is a multiple of, in bytes: parts of larger tensors begin wherever
 * their problem says that they may (problem/view.h). */
static inline int64_t cvy_place_align(const cvy_problem *problem, const cvy_array *array) {
  if (cvy_operation_of(problem)->begins_anywhere) return sizeof(float);
  if (!cvy_array_view_is_part(&array->view)) return CVY_PLACE_ALIGN;
  return cvy_array_view_alignment(&array->view) * (int64_t)sizeof(float);
}

/* The array that a base is: from byte `at` of array `id` on. */
typedef struct cvy_base {
  uint64_t id;
  int64_t at;
  int32_t constant; /* 1: its contents stay as they are while it is bound, run after run */
  int32_t reserved;
} cvy_base;

/* Copies of an operand of a plan's step: `count` stretches of `bytes`, `stride` bytes apart, from
 * byte `offset` behind the place on, side by side into another array from its byte `to` on. */
typedef struct cvy_tap {
  cvy_operand from;
  int64_t offset, bytes, stride, to;
  int32_t count;
  int32_t after; /* 1: when the step is done, else before it */
} cvy_tap;

/* The program's allocator of device memory, in this process; called on the thread that gave the
 * command. `stream` is where the memory will be used first. */
typedef struct cvy_allocator {
  convoy_allocate_fn *allocate; /* NULL: the engine has memory of its own */
  convoy_release_fn *release;
  void *user;
} cvy_allocator;

/* What becomes of commands that go into the stream now. While they are recorded, to be carried out
 * later and again, nothing can be waited for, compiled, or allocated by the engine. */
typedef enum cvy_recording {
  CVY_NOT_RECORDING,
  CVY_RECORDING_KNOWN,  /* the job came before: it can be recorded */
  CVY_RECORDING_NEW,    /* it did not */
  CVY_RECORDING_BROKEN, /* nothing can go into the stream until recording has ended */
  CVY_RECORDINGS
} cvy_recording;

/* ----------------------------------------------------------------------------------- commands */

/* CVY_LIST, CVY_OPEN, CVY_MAP and CVY_UNMAP pass between the lane and its worker only: the list of
 * devices, the one that is opened, and blocks of memory that both have mapped, whose descriptors
 * come over the socket. */
typedef enum cvy_command_kind {
  CVY_LIST,
  CVY_OPEN,
  /* Makes a faulted device usable again, or one that is behind, for which it waits. ERR_DEADLINE:
   * not now (the budget is spent, or it was started anew too often recently), a later clear may
   * find it usable. ERR_DEVICE: the device is gone for good. */
  CVY_CLEAR,
  CVY_PEAK, /* measures what the device can do at best */
  CVY_MAP,
  CVY_UNMAP,
  CVY_ALLOCATE, /* makes an array, contents undefined */
  /* Gives an array back after what was enqueued before, on a faulted device too. An array that is
   * not there is ignored. */
  CVY_RELEASE,
  /* Host memory to part of an array, and back. The memory is the engine's until the command is
   * done: only then may it change, and only then is the copy there. */
  CVY_WRITE,
  CVY_READ,
  CVY_COPY, /* copies one array to another */
  CVY_ZERO, /* sets all bytes to 0 */
  CVY_RUN,  /* carries out a job; with host_memory it is done on return */
  /* Compiles what a job needs and leaves it in the caches of programs for other processes. Operands
   * are not looked at. No command is touched, whether it fails or not. */
  CVY_BUILD,
  /* Has the device compile what a job needs when it comes to it, for its own use. No thread waits,
   * and a failure is not told; nothing happens where there is no room, or where the same was asked
   * before. A device that is behind takes it too. */
  CVY_PREPARE,
  /* Makes an array over memory on the device that belongs to the program, which may change
   * it between commands; a release leaves that memory alone. */
  CVY_ADOPT,
  /* A stream of the program's is where commands go from now on, behind all that came before. It is
   * ERR_UNSUPPORTED, as CVY_ADOPT is, where the engine shares no process with its owner, or knows
   * no addresses. */
  CVY_USE_STREAM,
  /* An allocator gives the device's memory from now on, scratch memory too; what the engine has by
   * then it keeps. ERR_UNSUPPORTED also where another thread than the caller's is the engine's. */
  CVY_USE_ALLOCATOR,
  /* Memory is taken from here first until the next CVY_LEND, at which nothing of it is in use. */
  CVY_LEND,
  CVY_RECORDING, /* asks whether a job would be recorded now; operands are not looked at */
  /* Makes an array over part of another. It has the same contents, and its memory stays as long as
   * one of the two is there. */
  CVY_PART_OF,
  CVY_PLAN_JOB,  /* appends a step to a plan: a job whose operands are places */
  CVY_PLAN_COPY, /* appends a step to a plan: a copy from place to place */
  CVY_PLAN_BIND, /* says which arrays a plan's bases are; they stay so until bound anew */
  CVY_PLAN_TAP,  /* has the plan's next run, and only that, copy what a step reads and makes */
  CVY_PLAN_RUN,  /* carries out all steps in turn; its ticket is that of the last one */
  CVY_PLAN_DROP, /* forgets a plan; one that is not there is no error */
  CVY_COMMANDS
} cvy_command_kind;

#define CVY_COMMAND_BIT(kind) (UINT64_C(1) << (kind))

/* Whether a kind has tickets: a thread may wait for such a command, or for those up to it. */
static inline bool cvy_command_has_ticket(uint32_t kind) {
  const uint64_t kinds =
      CVY_COMMAND_BIT(CVY_ALLOCATE) | CVY_COMMAND_BIT(CVY_WRITE) | CVY_COMMAND_BIT(CVY_READ) |
      CVY_COMMAND_BIT(CVY_COPY) | CVY_COMMAND_BIT(CVY_ZERO) | CVY_COMMAND_BIT(CVY_RUN) |
      CVY_COMMAND_BIT(CVY_ADOPT) | CVY_COMMAND_BIT(CVY_PART_OF) | CVY_COMMAND_BIT(CVY_PLAN_RUN);
  return kinds >> kind & 1;
}

/* Arrays and plans are numbers that core chooses, never 0 and never reused. A plan is there from
 * its first step on. */
typedef struct cvy_command {
  uint32_t kind; /* cvy_command_kind */
  union {
    struct {
      int32_t device; /* its place in the list */
    } open;
    struct {
      uint32_t block;
      int64_t bytes;
    } map;
    struct {
      uint32_t block;
    } unmap;
    struct {
      int32_t empties; /* 1: arrays and plans go too; the lane's to say */
    } clear;
    struct {
      uint64_t array;
      int64_t bytes;
    } allocate, zero;
    struct {
      uint64_t array;
    } release;
    struct {
      uint64_t array;
      int64_t at, bytes; /* the part of the array */
      uint32_t block;    /* in which a worker finds the memory, */
      int64_t block_at;  /* from this byte on: the lane's to say */
    } transfer;          /* write, read */
    struct {
      uint64_t from, to;
      int64_t bytes;
    } copy;
    struct {
      int32_t launches; /* 1: also what a driver leaves to a kernel's first launch */
      int32_t counts;   /* 1: the job was not asked for before; the lane's to say */
    } prepare;
    struct {
      uint64_t array, address;
      int64_t bytes;
    } adopt;
    struct {
      uint64_t stream;
    } use_stream;
    struct {
      uint64_t address; /* 0: nothing is lent */
      int64_t bytes;
    } lend;
    struct {
      uint64_t array, of;
      int64_t at, bytes; /* `at` is a multiple of CVY_PLACE_ALIGN */
    } part_of;
    struct {
      uint64_t plan;
    } plan_job, plan_drop;
    struct {
      uint64_t plan;
      cvy_operand from, to;
      int64_t bytes;
    } plan_copy;
    struct {
      uint64_t plan;
      int32_t first, count; /* bases */
    } plan_bind;
    struct {
      uint64_t plan;
      uint64_t array; /* that is copied to */
      int32_t step, count;
    } plan_tap;
    struct {
      uint64_t plan;
      uint64_t run; /* whose random numbers are drawn */
    } plan_run;
  };
  /* What goes with it: the giver's, and in use until the call returns. */
  union {
    const void *payload;                    /* whichever it is */
    const struct cvy_open_options *options; /* list, open */
    const cvy_job *job;                     /* run, build, prepare, recording, plan_job */
    const cvy_base *bases;                  /* plan_bind */
    const cvy_tap *taps;                    /* plan_tap, CVY_MAX_TAPS at most */
    const cvy_allocator *allocator;         /* use_allocator */
    void *memory; /* write, read: of an engine, on the host. A worker finds it in the block */
  };
} cvy_command;

/* What some kinds answer. */
typedef struct cvy_reply {
  bool emptied;             /* clear, with any status: what was on the device is lost. All arrays
                               are gone, tickets go on counting */
  int32_t recording;        /* recording: cvy_recording */
  int64_t taken;            /* lend: bytes, since the one before, here or from the allocator */
  double gflops, gigabytes; /* peak: of FMA, and copied per second (read plus written) */
} cvy_reply;

#endif
