/* The OpenCL engine: everything that touches a driver. Lives in the module convoy-ocl.so, called by
 * one thread at a time. One in-order queue per device, so commands need no events between them and
 * memory may be given back as soon as its last use is enqueued. */
#ifndef CVY_OCL_ENGINE_H
#define CVY_OCL_ENGINE_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "cl/conv_args.h"
#include "ocl/engine/arena.h"
#include "ocl/plan.h"

/* --------------------------------------------------------------------------- errors.c */

const char *cl_error_name(cl_int code); /* "CL_OUT_OF_RESOURCES" */
/* Fails with "<what>: <name> (<code>)": ERR_MEMORY for the codes of exhausted memory, else
 * ERR_DEVICE. */
convoy_status cl_fail(cl_int code, const char *what);

/* --------------------------------------------------------------------------- arrays.c */

/* Arrays by number. */
typedef struct array_entry {
  uint64_t id;
  int64_t bytes;
  arena_piece *piece;
  bool prepacked; /* may have prepacked operands */
  struct array_entry *next;
} array_entry;

#define ARRAY_BUCKETS 1024
typedef struct array_map {
  array_entry *bucket[ARRAY_BUCKETS];
} array_map;

array_entry *arrays_find(const array_map *map, uint64_t id);
array_entry *arrays_add(array_map *map, uint64_t id); /* NULL: host memory exhausted */
void arrays_remove(array_map *map, uint64_t id);
void arrays_clear(array_map *map);
/* The array of a number with at least `bytes`; fails with a sentence. */
convoy_status find_array(cvy_device *device, uint64_t id, int64_t bytes, array_entry **out);

/* -------------------------------------------------------------------------- program.c */

/* A program: pieces of source in order, ended by NULL, and its options. */
typedef struct program_source {
  const char *name;
  const char *const *parts;
} program_source;

/* Room for the options of a program. */
#define PROGRAM_OPTIONS 640

typedef struct program_cache program_cache;

/* ---------------------------------------------------------------------------- watch.c */

void watch_set(const cvy_engine_watch *watch);
/* Returns the phase before. */
cvy_phase watch_phase(cvy_phase phase);
void watch_progress(const cvy_device *device);
void watch_first_run(void);

/* ---------------------------------------------------------------------------- completion.c */

/* A kernel under way. */
typedef struct completion_event {
  cl_event event;
  uint64_t ticket;
  double work;     /* floating-point operations */
  double enqueued; /* cvy_clock */
  double *rate;    /* of the kernel: operations per second */
  bool alone;      /* the kernel before it has an event too */
} completion_event;

#define COMPLETION_EVENTS 4096
typedef struct completion {
  completion_event event[COMPLETION_EVENTS];
  uint32_t first, count;
  uint32_t unseen; /* kernels since the newest event, and how long they are expected to take */
  double expected; /* seconds */
} completion;

/* Whether the next kernel, expected to take so long, is to have an event. */
bool completion_due(cvy_device *device, double seconds);
/* Takes over the event of a kernel of the newest command. */
void completion_add(cvy_device *device, cl_event event, double work, double *rate);
/* Waits for the kernels of commands up to `ticket`, one by one. A failure is recorded as a fault. */
convoy_status completion_wait(cvy_device *device, uint64_t ticket);
void completion_drop(cvy_device *device);
/* Forgets the marker of engine_poll. */
void completion_forget_idle(cvy_device *device);

/* ---------------------------------------------------------------------------- device */

struct cvy_device {
  cvy_facts facts;
  char platform_version[128];
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cvy_arena *memory;
  array_map arrays;
  struct prepacked_operand *prepacked; /* most recently used first */
  program_cache *programs;
  struct captured_table *captured;
  struct capture *capture; /* of the job under way; NULL: none */
  struct staging *staging; /* host copies of writes under way, oldest first */
  struct pinned *pinned;   /* host memory the driver knows */
  int64_t staging_bytes;
  int64_t programs_compiled, programs_cached;
  double dispatch;      /* seconds one launch should not exceed */
  double build_wait;    /* seconds to wait for another process that compiles the same program */
  bool tells_registers; /* its compiler can be told how many an item may have */
  bool dry_run; /* launch code runs for its programs alone: nothing is allocated or enqueued */
  completion completion;
  uint32_t unflushed, burst; /* jobs since the last flush; the next one is due after 2^burst */
  cl_event idle_event;       /* marker behind command `idle_ticket`, NULL: none */
  uint64_t idle_ticket;
  double unmeasured; /* the rate of kernels that are not ours to cut */
  uint64_t ticket;   /* commands accepted so far */
  uint64_t finished; /* tickets up to this one are known to be good */
  uint64_t fault;    /* number of the command that failed, 0: none */
  convoy_status fault_status;
  char fault_sentence[512];
};

/* Operations per second of a kernel not measured yet: a tenth of what a slow card does. */
#define SLOW_RATE 20e9

/* A kernel and how fast it has been lately, in operations per second: a guess for a slow card until
 * it has been measured. */
typedef struct program_kernel {
  cl_kernel kernel;
  double rate;
} program_kernel;

/* Kernel of a program, built or taken from memory or disk at first use; the device owns it. */
convoy_status find_kernel(cvy_device *device, const program_source *source, const char *options,
                          const char *kernel, program_kernel **out);
/* Leaves a program in the disk cache, unless it is there or another process is about to. */
convoy_status prepare_program(cvy_device *device, const program_source *source,
                              const char *options);
void programs_close(cvy_device *device);

/* -------------------------------------------------------------------- program_disk.c */

/* Compiled programs on disk; `key` names the entry. load: malloc'ed, NULL if there is none or it is
 * corrupt, in which case it is deleted. A failure to store is logged, nothing more. */
void *program_load(uint64_t key, size_t *bytes);
void program_store(uint64_t key, const void *binary, size_t bytes);
void program_forget(uint64_t key);
/* Whether there is an entry; it may be corrupt. */
bool program_is_stored(uint64_t key);
/* Whoever compiles an entry locks it, so that others wait for it instead of compiling it too. A process
 * that dies lets go. -1: it was not to be had within `seconds`, or there is no cache. */
int program_lock(uint64_t key, double seconds);
void program_unlock(uint64_t key, int lock);
/* While the driver loads an entry it is on trial: one that takes the process along is found so by the next
 * process, and deleted. -1: it is not on trial. */
int program_try(uint64_t key);
void program_tried(uint64_t key, int trial);

/* --------------------------------------------------------------------------- launch.c */

/* Part of a device array. */
typedef struct span {
  cl_mem memory;
  int64_t at; /* floats */
} span;

/* The four arrays every kernel takes; an absent one has memory NULL. */
typedef struct bindings {
  span a, b, bias, out;
} bindings;

static inline span span_of(const arena_piece *piece) {
  return (span){piece->memory, piece->at / (int64_t)sizeof(float)};
}

/* The argument block of a problem; this launch's own fields are zero. */
conv_args args_of(const cvy_problem *problem);
/* The same with the extents and slices of a tiled product. */
conv_args args_of_product(const cvy_problem *problem, const cvy_ocl_product *product);

typedef struct launch {
  const program_source *source;
  const char *options;
  const char *kernel;
  bool wide; /* compiled with WIDE=1 */
  int64_t work_groups, items;
  double work; /* floating-point operations of the whole launch, or what takes as long */
} launch;

/* Enqueues one kernel; args' four offsets and first_group are filled here. A launch that would take
 * long on this device becomes several: nothing can stop a kernel, and a desktop on the same card
 * stands still meanwhile. */
convoy_status launch_kernel(cvy_device *device, const launch *what, conv_args args,
                            const bindings *arrays);
/* Enqueues it, with the kernel found already. */
convoy_status launch_found(cvy_device *device, const launch *what, program_kernel *kernel,
                           conv_args args, const bindings *arrays);
/* launch_kernel for kernels of one item per element: args.items of them. */
convoy_status launch_elements(cvy_device *device, const launch *what, const conv_args *args,
                              const bindings *arrays);

/* -------------------------------------------------------------------------- prepacked.c */

/* What launch code makes of an array once and uses again, such as packed weights. Equal forms of an
 * array that nobody wrote to have equal contents. */
typedef struct prepacked_form {
  const cvy_algorithm *of;
  int64_t number[8]; /* all that the contents depend on but the array; unused ones 0 */
} prepacked_form;

/* Memory of array `id` in a form. *fresh: it has no contents yet, the caller enqueues making them. The
 * span serves until memory is taken again. */
convoy_status prepacked_find(cvy_device *device, uint64_t id, const prepacked_form *form,
                             int64_t bytes, span *out, bool *fresh);
/* The array's contents change, or it goes. */
void prepacked_forget(cvy_device *device, array_entry *entry);
void prepacked_forget_all(cvy_device *device);
/* Device memory for whatever purpose: prepacked operands make room for it. */
convoy_status memory_take(cvy_device *device, int64_t bytes, arena_piece **out);

/* ------------------------------------------------------------ capture.c, captured.c */

/* The arrays of a job that its launches are given; ORIGIN_FORM: a prepacked operand of b. */
enum {
  ORIGIN_NONE,
  ORIGIN_A,
  ORIGIN_B,
  ORIGIN_BIAS,
  ORIGIN_OUT,
  ORIGIN_SCRATCH,
  ORIGIN_FORM,
  ORIGINS
};

/* One of them, `at` floats behind its start. */
typedef struct captured_array {
  int32_t origin;
  int64_t at;
} captured_array;

typedef struct captured_launch {
  launch what;
  program_kernel *kernel;
  conv_args args;
  captured_array a, b, bias, out;
} captured_launch;

/* The launches of a job. Those that write the form make it, and are needed where it is fresh. */
typedef struct captured_job {
  prepacked_form form;
  int64_t form_bytes; /* 0: there is none */
  bool makes_form;    /* else it was there when this was written down */
  int64_t scratch_bytes;
  int32_t count;
  const captured_launch *launches;
} captured_job;

/* A job with more launches waits for the device, not for the host. */
#define CAPTURED_LAUNCHES 16

typedef struct capture {
  uint64_t b; /* the array */
  const arena_piece *pieces[ORIGINS];
  bool invalid; /* something was done that depends on more than the job */
  captured_job job;
  captured_launch launches[CAPTURED_LAUNCHES];
} capture;

/* Between begin and end, what is launched and which form is used is written down. end: whether all of it
 * could be. */
void capture_begin(cvy_device *device, capture *new, const cvy_job *job, const bindings *arrays,
                   const arena_piece *scratch);
bool capture_end(cvy_device *device);
void capture_launch(cvy_device *device, const launch *what, program_kernel *kernel,
                    const conv_args *args, const bindings *arrays);
void capture_form(cvy_device *device, uint64_t id, const prepacked_form *form, int64_t bytes,
                  const arena_piece *piece, bool fresh);
/* For commands that are no launches. */
void capture_invalidate(cvy_device *device);

/* NULL: the job has not come before. Serves until the next is kept. */
const captured_job *captured_find(const cvy_device *device, const cvy_job *job);
void captured_keep(cvy_device *device, const cvy_job *job, const capture *of);
void captured_close(cvy_device *device);
/* Enqueues a job as before. False, with nothing enqueued: it needs more than is written down. */
bool captured_replay(cvy_device *device, const captured_job *known, const cvy_job *job,
                     const bindings *arrays, span scratch, convoy_status *status);

/* ----------------------------------------------------------------------- gemm_sides.c */

/* The options cl/space.cl needs. */
void add_space(cvy_text *text, const cvy_problem *problem, bool compiled);
/* Registers for so many items at once on an NVIDIA multiprocessor, no more and no fewer; elsewhere nothing. */
void add_resident(cvy_text *text, const cvy_device *device, int64_t items);
/* A kernel of cl/pack_and_reduce.cl, at least `items` items. */
convoy_status launch_side(cvy_device *device, const cvy_problem *problem, const char *kernel,
                          const conv_args *args, int64_t items, const bindings *arrays);
/* The job's weights as tiles read them: [group][block of `block` channels][tap][block][rows_up], a
 * prepacked operand. Takes the matrix's extents from `args`. */
convoy_status packed_weights(cvy_device *device, const cvy_job *job, const conv_args *args,
                             int64_t block, const bindings *arrays, span *out);
/* A product of args->slices slices: one writes the result, of several each its part of `scratch`,
 * which are then added, so that what happens to finished sums happens once. */
convoy_status launch_split_k(cvy_device *device, const cvy_problem *problem, const launch *what,
                            const conv_args *args, const bindings *arrays, span scratch);
/* out = the sum of the partial results, with the problem's epilogue. Many slices are shared by
 * several lanes of a work-group. */
convoy_status reduce_split_k(cvy_device *device, const cvy_problem *problem, int64_t slices,
                         span partial, const bindings *arrays);

/* The same for partial results of backward_data with a 1x1 filter, at the positions that dy has; zeros
 * go between them. */
convoy_status scatter_split_k(cvy_device *device, const cvy_problem *problem, int64_t slices,
                            span partial, const bindings *arrays);

/* ------------------------------------------------------------- one per algorithm, run.c */

/* Enqueues a job; `scratch` is its workspace, as large as the algorithm asked for. */
typedef convoy_status launch_fn(cvy_device *device, const cvy_job *job, const bindings *arrays,
                                span scratch);
launch_fn run_direct, run_depthwise, run_im2col_clblast, run_implicit_gemm, run_strided_data,
    run_few_channels, run_long_rows, run_winograd;

/* CLBlast keeps programs of its own; nothing without CLBlast. */
void product_cache_close(void);

convoy_status engine_run(cvy_device *device, const cvy_job *job, uint64_t *ticket);
convoy_status engine_build(cvy_device *device, const cvy_job *job, const volatile int *interrupt);

/* -------------------------------------------------------------- commands.c, transfer.c */

/* Every command begins with command_begin, which refuses while the device is faulted, and ends with
 * command_end, which counts it and records a fault. */
convoy_status command_begin(cvy_device *device, uint64_t *ticket);
convoy_status command_end(cvy_device *device, convoy_status status);

/* A flush costs as much as half a kernel. Jobs are flushed in bursts, so that the device always has work;
 * whoever waits, rests or begins something slow flushes what is left. */
void flush_burst(cvy_device *device);
void flush_all(cvy_device *device);

convoy_status engine_allocate(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket);
convoy_status engine_release(cvy_device *device, uint64_t id);
convoy_status engine_write(cvy_device *device, uint64_t id, const void *from, int64_t bytes,
                           uint64_t *ticket);
convoy_status engine_read(cvy_device *device, uint64_t id, void *to, int64_t bytes);
convoy_status engine_write_part(cvy_device *device, uint64_t id, int64_t offset, const void *from,
                                int64_t bytes, uint64_t *ticket);
convoy_status engine_read_part(cvy_device *device, uint64_t id, int64_t offset, void *to,
                               int64_t bytes);
convoy_status engine_copy(cvy_device *device, uint64_t from, uint64_t to, int64_t bytes,
                          uint64_t *ticket);
convoy_status engine_zero(cvy_device *device, uint64_t id, int64_t bytes, uint64_t *ticket);
convoy_status engine_wait(cvy_device *device, uint64_t ticket, const volatile int *interrupt,
                          uint64_t *fault);
bool engine_poll(cvy_device *device);
convoy_status engine_clear(cvy_device *device, bool *emptied);
void staging_close(cvy_device *device);

/* --------------------------------------------------------------------------- pinned.c */

void engine_host_offer(cvy_device *device, void *memory, int64_t bytes);
void engine_host_withdraw(cvy_device *device, void *memory);
void pinned_close(cvy_device *device);
/* Whether [at, at + bytes) lies in memory that was offered, and taken. */
bool pinned_has(const cvy_device *device, const void *at, int64_t bytes);

/* After a call that waited for everything enqueued: remembers how far results are good, or that some
 * command after that failed. */
convoy_status command_drained(cvy_device *device, cl_int code, const char *what);

/* Bytes of a span set to 0. */
convoy_status fill_zero(cvy_device *device, span at, int64_t bytes);

/* ----------------------------------------------------------- list.c, device.c, peak.c */

/* Device `index` of all platforms in order, with its facts; *count gets the number there are. */
convoy_status devices_list(const cvy_open_options *options, cvy_facts *out, cl_device_id *ids,
                           int32_t capacity, int32_t *count);
convoy_status engine_list(const cvy_open_options *options, cvy_facts *out, int32_t capacity,
                          int32_t *count);
convoy_status engine_open(int32_t index, const cvy_open_options *options, cvy_device **out);
void engine_close(cvy_device *device);
convoy_status engine_peak(cvy_device *device, double *gflops, double *gigabytes);

#endif
