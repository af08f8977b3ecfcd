/* Convoy: convolution, forward and backward, on whatever device is there.
 *
 * This header is the whole public interface and its manual. It compiles alone as C11 and as C++11.
 *
 * Letters, the same everywhere:  n c z h w  input     k t r s  filter     oz oh ow  output
 *   sz sh sw stride   pz ph pw padding   dz dh dw dilation   groups
 * Every array is dense, row-major float32, NCHW: the last extent varies fastest.
 *   rank 1   x [N][C][W]         w [K][C/groups][S]           y [N][K][OW]
 *   rank 2   x [N][C][H][W]      w [K][C/groups][R][S]        y [N][K][OH][OW]
 *   rank 3   x [N][C][Z][H][W]   w [K][C/groups][T][R][S]     y [N][K][OZ][OH][OW]
 *   transposed:                  w [C][K/groups][T][R][S]     (as in PyTorch)
 * Shapes are int64_t arrays with rank + 2 entries. Geometry arrays (stride, ...) use their first
 * `rank` entries, outermost first: rank 2 is {h, w}. No extent of x, w or y, batch included, and no
 * entry of the geometry may exceed 2^31 - 1 (2147483647).
 *
 * Errors. A function that can fail returns a convoy_status; convoy_last_error() then gives one
 * sentence with the offending numbers. On any status but CONVOY_OK outputs are untouched.
 * What every function may return besides what its comment lists: ERR_ARGUMENT for a NULL where
 * none is allowed, a closed or foreign context; ERR_MEMORY when host memory is exhausted.
 *
 * Threads. Contexts and tensors may be used from any thread; operations of one context are executed
 * in one order, that of their calls. Different contexts are independent. After fork() the child may
 * use an inherited context: its operations run on the CPU. A call needs 128 KiB of its thread's
 * stack; convoy_open and convoy_devices check that they have it.
 *
 * Structs begin with struct_size, which the caller sets to their sizeof. They may grow at their end in
 * later versions; of a smaller one of an earlier header no field beyond is read or written.
 *
 * There is no access to OpenCL's buffers or queues, no layout but NCHW, no dtype but float32 yet.
 */
#ifndef CONVOY_CONVOY_H
#define CONVOY_CONVOY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CONVOY_VERSION_MAJOR 0
#define CONVOY_VERSION_MINOR 2
#define CONVOY_VERSION_PATCH 0

#if defined(__GNUC__)
#define CONVOY_API __attribute__((visibility("default")))
#else
#define CONVOY_API
#endif

#define CONVOY_MAX_RANK 3
#define CONVOY_MAX_DIMS 5 /* batch, channels, and up to three spatial extents */

/* ------------------------------------------------------------------------------------ status */

typedef enum convoy_status {
  CONVOY_OK = 0,
  CONVOY_ERR_ARGUMENT = 1,    /* a pointer is NULL, a field is out of range, a context is closed */
  CONVOY_ERR_SHAPE = 2,       /* shapes disagree, or the filter does not fit the padded input */
  CONVOY_ERR_MEMORY = 3,      /* host or device memory is exhausted */
  CONVOY_ERR_DEVICE = 4,      /* a device failed, vanished, or its process died */
  CONVOY_ERR_UNSUPPORTED = 5, /* a named algorithm refuses the problem, or a part was not built */
  CONVOY_ERR_IO = 6,          /* a file could not be read or written, or what the worker process is
                                 given got lost on the way to it: no fault of the device */
  CONVOY_ERR_NOT_FOUND = 7,   /* no device or algorithm of that name */
  CONVOY_ERR_INTERRUPTED = 8, /* convoy_interrupt() was called */
  CONVOY_ERR_DEADLINE = 9, /* a device made no progress within its deadline, or its budget ended */
  CONVOY_ERR_WRONG = 10    /* a device's result did not stand its verification */
} convoy_status;

/* The constant's name, such as "CONVOY_ERR_SHAPE"; "unknown status" for other numbers. Never NULL.
 * Any thread. */
CONVOY_API const char *convoy_status_name(convoy_status status);

/* The sentence of the calling thread's last failed call, "" if none has failed. The text is valid
 * until the thread's next failing call. Never NULL. */
CONVOY_API const char *convoy_last_error(void);

/* "0.2.0 (build id)"; static storage. The worker process must carry the same build id. */
CONVOY_API const char *convoy_version(void);

/* --------------------------------------------------------------------------------------- log */

typedef enum convoy_log_level {
  CONVOY_LOG_OFF = 0,
  CONVOY_LOG_ERROR = 1,
  CONVOY_LOG_WARNING = 2, /* every downgrade is one line at this level */
  CONVOY_LOG_INFO = 3,
  CONVOY_LOG_DEBUG = 4
} convoy_log_level;

/* Called with one line, no newline. May be called from any thread; must not call Convoy. */
typedef void convoy_log_fn(void *user, convoy_log_level level, const char *line);

/* Sends log lines of at most `level` to `fn`; NULL restores the default, which writes them to stderr
 * behind the time (UTC): "convoy: 2026-11-23T05:07:09Z: ...". One process of many says which, as
 * convoy_open finds it in RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID or, for want of these,
 * LOCAL_RANK: "convoy: 2026-11-23T05:07:09Z rank 3: ...". Process-wide. Until the first call the level
 * is CONVOY_LOG (off, error, warning, info, debug), by default warning. */
CONVOY_API void convoy_set_log(convoy_log_fn *fn, void *user, convoy_log_level level);

/* ----------------------------------------------------------------------------------- options */

typedef enum convoy_switch { CONVOY_DEFAULT = 0, CONVOY_ON = 1, CONVOY_NO = 2 } convoy_switch;

/* How results of a device are checked against the CPU (docs/failover.md). */
typedef enum convoy_verify {
  CONVOY_VERIFY_DEFAULT = 0, /* CONVOY_VERIFY, else sample */
  CONVOY_VERIFY_SAMPLE = 1,  /* before an algorithm's first use, and a sample of every result */
  CONVOY_VERIFY_ALL = 2,     /* every element of every result, before it is handed out */
  CONVOY_VERIFY_OFF = 3
} convoy_verify;

typedef enum convoy_isolation {
  CONVOY_ISOLATION_DEFAULT = 0, /* CONVOY_ISOLATION, else process */
  CONVOY_ISOLATION_PROCESS = 1, /* the GPU driver lives in a process of its own, convoy-worker */
  CONVOY_ISOLATION_NONE = 2     /* in this process: trusted drivers, debugging; a crash is shared */
} convoy_isolation;

/* Threads that the program has anyway, lent to the CPU engine so that it need not have its own on the
 * same cores. A team calls member(arg) once on each of its threads, the calling one among them, and
 * returns when all have returned; if it has but that one, on that one. It does so for calls from several
 * threads at the same time. `count` and `flags` are 0 and mean: all its threads. GOMP_parallel of an
 * OpenMP runtime is such a team. */
typedef void convoy_team_member(void *arg);
typedef void convoy_team(convoy_team_member *member, void *arg, unsigned count, unsigned flags);

/* How a context is opened. A zero or NULL field means: the environment variable, else the default.
 *
 *   field            environment              default   meaning
 *   device           CONVOY_DEVICE            auto      auto, cpu, ocl, ocl:1, or part of a name
 *   algorithm        CONVOY_ALGORITHM         (choose)  run only this row; others are refused
 *   isolation        CONVOY_ISOLATION         process   process, none
 *   failover         CONVOY_FAILOVER          1         0: a device fault is returned, not hidden
 *   require_device   CONVOY_REQUIRE_DEVICE    0         1: convoy_open fails where it would open the CPU
 *                                                       engine in place of what is asked for
 *   threads          CONVOY_THREADS           cores     threads of the CPU engine
 *   workspace_limit  CONVOY_WORKSPACE_LIMIT   1 GiB     bytes of scratch one operation may use
 *   tune             CONVOY_TUNE              1         0: table order, no measured records
 *   device_wait_budget  CONVOY_DEVICE_WAIT_BUDGET  60   seconds one public call may wait for a device,
 *                                                       all its attempts together; not counted is
 *                                                       what it computes, what calls ahead of it
 *                                                       take, and while the program is stopped
 *   team             -                        (own)     a convoy_team: the threads the CPU engine takes
 *   -                CONVOY_DEADLINE          (docs)    seconds without progress after which a device
 *                                                       hangs: run=10,compile=30,transfer=10,
 *                                                       probe=10,start=20 or some of them; further
 *                                                       restarts=6 (fresh workers in ten minutes),
 *                                                       dispatch=0.25 (seconds one launch may take)
 *   verify           CONVOY_VERIFY            sample    all, sample, off: how results are checked
 *   nan_watch        CONVOY_NAN_WATCH         0         1: report the first non-finite value
 *   winograd         CONVOY_WINOGRAD          1         0: no algorithm whose results err by more than
 *                                                       every result may (see Accuracy)
 *   history_limit    CONVOY_HISTORY_LIMIT     1 GiB     bytes held only to recompute lost tensors
 *   -                CONVOY_CPU_STALL         60        seconds without progress after which the CPU
 *                                                       engine says what it hangs in; 0: never
 *   -                CONVOY_CPU_ISA           (best)    avx512, avx2, baseline: inner loops of the CPU
 *                                                       engine
 *   -                CONVOY_STATE_DIR         XDG       faults, markers, devices that were seen:
 *                                                       $XDG_STATE_HOME/convoy
 *   -                CONVOY_FAULT_LIMIT       3         faults that take a device down a step (see
 *                                                       convoy_fault_table); 0: none are recorded
 *   -                CONVOY_LOG               warning   see convoy_set_log
 *   -                CONVOY_CACHE_DIR         XDG       compiled programs: $XDG_CACHE_HOME/convoy
 *   -                CONVOY_COMPILE_WORKERS   (cores/2) processes that compile a device's programs ahead of
 *                                                       time: 0 none, at most 64; by default no more
 *                                                       than 8, one for each 2 GiB the device has, none for
 *                                                       a device of type CPU or on two cores
 *   -                CONVOY_TUNE_FILE         XDG       choices: $XDG_CONFIG_HOME/convoy/tune.txt
 *   -                CONVOY_LIBEXEC           (beside the library)  folder of convoy-worker and
 *                                                       convoy-ocl.so
 *
 * Relative names of folders and files begin where the process was when it first used one. What others
 * than the user and root may write to is not used, with one line of log.
 *
 * `auto` is a GPU through OpenCL if there is one, else the CPU engine. An OpenCL device of type CPU
 * is used only when named. With `cpu` no OpenCL library is loaded, no process started, no device
 * file opened. Names of devices are taken without the blanks around them, in capitals or not; `cpu:0`
 * is `cpu`, and any other number of a CPU engine there is not. */
typedef struct convoy_options {
  uint32_t struct_size;    /* sizeof(convoy_options); the library reads no field beyond it */
  int32_t isolation;       /* convoy_isolation */
  int32_t failover;        /* convoy_switch */
  int32_t tune;            /* convoy_switch */
  int32_t threads;         /* >= 0 */
  int32_t reserved;        /* 0 */
  int64_t workspace_limit; /* bytes, >= 0 */
  const char *device;
  const char *algorithm;
  double device_wait_budget; /* seconds, >= 0 */
  int64_t history_limit;     /* bytes, >= 0 */
  int32_t verify;            /* convoy_verify */
  int32_t nan_watch;         /* convoy_switch */
  int32_t winograd;          /* convoy_switch */
  int32_t reserved2;         /* 0 */
  convoy_team *team;         /* whose threads the CPU engine takes; NULL: its own */
  int32_t require_device;    /* convoy_switch */
  int32_t reserved3;         /* 0 */
} convoy_options;

#define CONVOY_OPTIONS_INIT \
  { sizeof(convoy_options), 0, 0, 0, 0, 0, 0, NULL, NULL, 0.0, 0, 0, 0, 0, 0, NULL, 0, 0 }

/* ----------------------------------------------------------------------------------- devices */

typedef enum convoy_device_type {
  CONVOY_DEVICE_CPU_ENGINE = 0, /* Convoy's own CPU path, always there */
  CONVOY_DEVICE_GPU = 1,
  CONVOY_DEVICE_CPU = 2, /* an OpenCL device that is a processor, such as PoCL */
  CONVOY_DEVICE_ACCELERATOR = 3
} convoy_device_type;

typedef struct convoy_device_info {
  uint32_t struct_size;
  int32_t type;          /* convoy_device_type */
  int32_t simulator;     /* 1: oclgrind and the like; "all devices" leaves it out */
  int32_t compute_units; /* threads for the CPU engine */
  int32_t clock_mhz;     /* 0 if unknown */
  int32_t reserved;
  int64_t memory_bytes;
  int64_t max_allocation_bytes;
  int64_t local_memory_bytes;
  char id[16];        /* "cpu", "ocl:0", ...: what CONVOY_DEVICE takes */
  char name[128];     /* device name */
  char platform[128]; /* OpenCL platform, or the instruction set of the CPU engine */
  char driver[128];   /* driver version, or the BLAS in use */
} convoy_device_info;

/* Lists the CPU engine first, then every OpenCL device, in `out[0 .. min(*count, capacity))`; each
 * out[i].struct_size must be set when capacity > 0 (only out[0]'s is read). *count is the number
 * there are. OpenCL is asked in a worker process unless `options` says isolation none; `options`
 * may be NULL. Where OpenCL cannot be asked, only the CPU engine is listed, and `why` (NULL, or
 * `why_size` bytes) receives the reason; it is "" otherwise. Blocking.
 * Returns OK, ERR_ARGUMENT, ERR_MEMORY. */
CONVOY_API convoy_status convoy_devices(const convoy_options *options, convoy_device_info *out,
                                        int32_t capacity, int32_t *count, char *why,
                                        size_t why_size);

/* What was compiled in, one "name: yes|no, detail" per line (OpenCL module, CLBlast, OpenBLAS,
 * instruction sets); static storage. */
CONVOY_API const char *convoy_build_info(void);

/* ----------------------------------------------------------------------------------- context */

typedef struct convoy_context convoy_context;

/* Opens a device and returns a context for it. `options` may be NULL.
 * A name that no device bears, nor ever bore on this machine, is a mistake: ERR_NOT_FOUND, always, with
 * what there is. (The devices that were seen are remembered in CONVOY_STATE_DIR/devices.txt; with a
 * folder that cannot be written only those count that are there.) A device that was there and is gone, or
 * is there and cannot be opened, is a fault: with failover on the CPU engine is opened in its place. A line
 * of log says so, and again every hour in which a call uses the context; convoy_context_describe and
 * fallback_seconds of the health query tell it all the time. So does `ocl` without any device of OpenCL;
 * `auto` without a GPU is told at level info only.
 * Returns OK; ERR_ARGUMENT for a bad option, a bad value in the environment or a variable that is set
 * under the name it had before version 0.2 (the sentence names it; CONVOY_DEADLINE is not looked at with
 * device cpu); ERR_NOT_FOUND for a mistake; with failover off or
 * require_device on ERR_DEVICE, ERR_DEADLINE or ERR_MEMORY for a fault, and ERR_NOT_FOUND if `ocl`, with
 * require_device also `auto`, finds nothing; ERR_MEMORY, in any case, if the thread's stack is too small.
 * Blocking: starts the worker process. */
CONVOY_API convoy_status convoy_open(const convoy_options *options, convoy_context **out);

/* Waits for what was enqueued, ends the worker, releases everything but tensors. Tensors may be
 * freed afterwards; any other use of them fails with ERR_ARGUMENT. NULL is allowed. No other call
 * may use the context during or after this one. */
CONVOY_API void convoy_close(convoy_context *context);

/* Describes the device the context runs on now (after a failover: the CPU engine); set
 * out->struct_size first. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_context_device(convoy_context *context, convoy_device_info *out);

#define CONVOY_DESCRIPTION_TEXT 640 /* bytes that hold any context's description */

/* Writes one line for people: the device the context runs on and why it is that one; where it is the CPU
 * engine in place of another, of which, for how long and why. What does not fit into `size` bytes is
 * cut. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_context_describe(convoy_context *context, char *text, size_t size);

/* Waits until everything enqueued on the context is done. Returns OK; ERR_MEMORY; ERR_DEVICE when
 * the device failed and failover is off; ERR_INTERRUPTED. */
CONVOY_API convoy_status convoy_sync(convoy_context *context);

/* Makes the context's running or next blocking wait (convoy_sync, convoy_tensor_read) return
 * ERR_INTERRUPTED once. Async-signal-safe; a closed context is not allowed. NULL is ignored. */
CONVOY_API void convoy_interrupt(convoy_context *context);

/* ------------------------------------------------------------------------------- convolution */

typedef enum convoy_dtype { CONVOY_FLOAT32 = 0 } convoy_dtype;

typedef enum convoy_direction {
  CONVOY_FORWARD = 0,
  CONVOY_BACKWARD_DATA = 1,
  CONVOY_BACKWARD_WEIGHTS = 2,
  CONVOY_BACKWARD_BIAS = 3
} convoy_direction;
#define CONVOY_DIRECTIONS 4

/* Geometry of a convolution, without extents: those come with the arrays. Only the first `rank`
 * entries of each array are read.
 *
 * Legal: rank 1..3; groups >= 1; stride, dilation >= 1; paddings >= 0 per side, in elements;
 * output_padding >= 0, smaller than stride or dilation of its axis, 0 unless transposed. */
typedef struct convoy_conv {
  uint32_t struct_size; /* sizeof(convoy_conv) */
  int32_t rank;
  int32_t dtype;      /* convoy_dtype */
  int32_t transposed; /* 0 or 1 */
  int64_t groups;
  int64_t stride[CONVOY_MAX_RANK];
  int64_t pad_begin[CONVOY_MAX_RANK];
  int64_t pad_end[CONVOY_MAX_RANK];
  int64_t dilation[CONVOY_MAX_RANK];
  int64_t output_padding[CONVOY_MAX_RANK];
} convoy_conv;

// clang-format off
#define CONVOY_CONV_INIT(rank_) \
  { sizeof(convoy_conv), (rank_), CONVOY_FLOAT32, 0, 1, {1, 1, 1}, {0}, {0}, {1, 1, 1}, {0} }
// clang-format on

/* Extents of y for given extents of x and w, rank + 2 entries each. Per spatial axis, with
 * d = dilation, f = filter, p = pad_begin + pad_end:
 *   o = floor((i + p - d (f - 1) - 1) / stride) + 1
 *   transposed: o = (i - 1) stride - p + d (f - 1) + output_padding + 1
 * (PyTorch documentation of Conv2d and ConvTranspose2d, solved per side.)
 * Returns OK; ERR_ARGUMENT for an illegal field of conv; ERR_SHAPE if channels and groups do not
 * fit, an extent other than N is < 1 or any exceeds 2^31 - 1, the filter is larger than the padded
 * input, or a count of bytes exceeds int64_t. N = 0 is legal. Any thread, no context. */
CONVOY_API convoy_status convoy_output_shape(const convoy_conv *conv, const int64_t *x_shape,
                                             const int64_t *w_shape, int64_t *y_shape);

/* Multiplications and additions of one direction (2 per product; additions only for the bias), not
 * counting products with padding only in that every tap is counted for every output. 0 on error. */
CONVOY_API double convoy_flops(const convoy_conv *conv, convoy_direction direction,
                               const int64_t *x_shape, const int64_t *w_shape);

#define CONVOY_PROBLEM_TEXT 384 /* bytes that hold any problem as text */

/* One line of text for a problem, and back. Logs, sentences, reports and the files that are kept put
 * problems so; of a bias, which needs no filter, as one of a single element over one channel. Grammar,
 * words separated by one space:
 *   n<N>c<C>[z<Z>][h<H>]w<W> k<K>[t<T>][r<R>]s<S> [stride<v>] [pad<p>] [dil<v>] [groups<g>]
 *   [transposed] [outpad<v>] <direction>
 * v: one number for all axes or one per axis, outermost first, joined by commas;
 * p: likewise, each number or begin:end; direction: forward, backward_data, backward_weights,
 * backward_bias. C and K are the channels of x and y, also when transposed. Example:
 *   n2c6h17w14 k4r3s4 stride2,5 pad1:0,3 dil4,2 groups2 forward
 * parse: writes conv, both shapes (5 entries each) and direction; ERR_ARGUMENT with the place of
 * the fault, or ERR_SHAPE when the problem is not a legal one; outputs then untouched.
 * format: writes at most `size` bytes with the terminator; ERR_ARGUMENT if they do not suffice
 * (CONVOY_PROBLEM_TEXT always do). Any thread, no context. */
CONVOY_API convoy_status convoy_parse_problem(const char *text, convoy_conv *conv, int64_t *x_shape,
                                              int64_t *w_shape, convoy_direction *direction);
CONVOY_API convoy_status convoy_format_problem(const convoy_conv *conv, const int64_t *x_shape,
                                               const int64_t *w_shape, convoy_direction direction,
                                               char *text, size_t size);

typedef enum convoy_activation {
  CONVOY_IDENTITY = 0,
  CONVOY_RELU = 1,      /* max(v, 0); a NaN stays */
  CONVOY_LEAKY_RELU = 2 /* v if v > 0, else slope v */
} convoy_activation;

/* What forward does to v = conv(x, w) before storing it: y = activation(v + bias[k]). */
typedef struct convoy_epilogue {
  uint32_t struct_size;
  int32_t activation; /* convoy_activation */
  float slope;        /* leaky ReLU only */
  int32_t reserved;
} convoy_epilogue;

#define CONVOY_EPILOGUE_INIT \
  { sizeof(convoy_epilogue), CONVOY_IDENTITY, 0.0f, 0 }

/* How a call was carried out. */
typedef struct convoy_run {
  uint32_t struct_size;
  int32_t attempts;    /* 1 unless a device failed first */
  int32_t first_fault; /* convoy_status of the first failed attempt, CONVOY_OK if none */
  int32_t reserved;
  double milliseconds;     /* wall time of the call, waiting included */
  int64_t workspace_bytes; /* scratch memory of the algorithm */
  char device[16];         /* id of the device that computed the result, "cpu" */
  char algorithm[32];      /* "cpu.im2col" */
  char parameters[128];    /* "TM=64 TN=64 ...", "" if it has none */
  char fault[256];         /* sentence of the first fault, "" if none */
} convoy_run;

#define CONVOY_RUN_INIT \
  { sizeof(convoy_run), 0, 0, 0, 0.0, 0, "", "", "", "" }

/* Operations on host memory. Synchronous. Pointers are used only until the call returns; arrays may
 * not overlap, except that x, w, dy and bias may be equal to each other. Sizes follow from conv,
 * x_shape and w_shape (rank + 2 entries each). `run` may be NULL, else set run->struct_size first.
 *
 *   forward           y[n][k][o] = act(bias[k] + sum over c, f of
 *                       x[n][c][o s - p + f d] w[k][c][f])
 *                     c runs over the group's channels, f over the filter; x outside counts as 0
 *   backward_data     dx = beta dx + the transpose of forward in x applied to dy
 *   backward_weights  dw = beta dw + the transpose of forward in w applied to dy
 *   backward_bias     db[k] = beta db[k] + sum over n, o of dy[n][k][o]
 * (cross-correlation, as in PyTorch; transposed convolution exchanges the roles of x and y.)
 *
 * beta is 0 (what was there is not read, it may be NaN) or 1. bias and epilogue may be NULL.
 * N = 0 is legal: nothing is written, except that beta = 0 sets dw and db to 0.
 * Accuracy: |y - exact| <= 4 (len + 2) 2^-24 sum|x||w|, len = the number of terms summed. Winograd's
 * algorithms, which options.winograd = CONVOY_NO forbids, mix neighbouring values: a plan that has
 * an error_growth g and an error_reach keeps
 *   |y - exact| <= 4 (len + 2) 2^-24 (sum|x||w| + g sum X|w|)
 * where X is the largest |x| of the channel in the window that the output reads, widened by
 * error_reach on both sides of each axis with more than one tap; backward_data: dy for x, with the
 * window of outputs that read the input; backward_weights: sum X|dy|, with the window of each dy.
 * Denormal operands and results may count as 0. Padding is a 0 that may be multiplied with, and zeros
 * may stand between rows: near an infinite or NaN operand a result may be NaN which by the formulas
 * above is finite.
 * The same inputs, device, driver, thread count and tuning file give the same bits.
 *
 * Returns OK; ERR_ARGUMENT for a NULL, an illegal field, another beta; ERR_SHAPE as
 * convoy_output_shape; ERR_UNSUPPORTED if the algorithm asked for by name refuses; ERR_DEVICE,
 * ERR_MEMORY of the device if failover is off. Outputs are untouched on failure (but see
 * convoy_host_alloc). */
CONVOY_API convoy_status convoy_forward_host(convoy_context *context, const convoy_conv *conv,
                                             const int64_t *x_shape, const float *x,
                                             const int64_t *w_shape, const float *w,
                                             const float *bias, const convoy_epilogue *epilogue,
                                             float *y, convoy_run *run);
CONVOY_API convoy_status convoy_backward_data_host(convoy_context *context, const convoy_conv *conv,
                                                   const int64_t *x_shape, const float *dy,
                                                   const int64_t *w_shape, const float *w,
                                                   float beta, float *dx, convoy_run *run);
CONVOY_API convoy_status convoy_backward_weights_host(convoy_context *context,
                                                      const convoy_conv *conv,
                                                      const int64_t *x_shape, const float *x,
                                                      const int64_t *w_shape, const float *dy,
                                                      float beta, float *dw, convoy_run *run);
CONVOY_API convoy_status convoy_backward_bias_host(convoy_context *context, const convoy_conv *conv,
                                                   const int64_t *x_shape, const int64_t *w_shape,
                                                   const float *dy, float beta, float *db,
                                                   convoy_run *run);

/* Memory that a worker process can read and write without a copy through the caller; use it for
 * arrays passed to the functions above and to convoy_tensor_read. What is written there (with beta 0)
 * the device writes itself, so after a call that failed its contents are undefined. Aligned to 4096
 * bytes, contents zero. It is shared with children made by fork(), not copied on write. Free it before
 * convoy_close or after; never while a call uses it. On a context without a worker it is ordinary
 * memory. bytes 0 gives NULL and OK. Returns OK, ERR_MEMORY. */
CONVOY_API convoy_status convoy_host_alloc(convoy_context *context, size_t bytes, void **out);
CONVOY_API void convoy_host_free(convoy_context *context, void *memory);

/* ----------------------------------------------------------------------------------- tensors */

/* A tensor is a handle to an immutable array. Operations read the array a tensor has when they are
 * called and give their output tensor a new one on success, so a tensor may be output of one call
 * while an earlier one still reads it, and may be input and output of the same call. */
typedef struct convoy_tensor convoy_tensor;

/* A new tensor of `dims` (1..5) extents, all elements 0.0. Extents >= 0.
 * Returns OK, ERR_ARGUMENT, ERR_SHAPE for a negative extent or a byte count above int64_t. */
CONVOY_API convoy_status convoy_tensor_new(convoy_context *context, int32_t dims,
                                           const int64_t *shape, convoy_tensor **out);

/* Gives up the handle; operations enqueued with it still complete. NULL is allowed. Legal after
 * convoy_close. */
CONVOY_API void convoy_tensor_free(convoy_tensor *tensor);

/* Extents: writes 5 entries (unused ones 1) and the number of extents. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_tensor_shape(const convoy_tensor *tensor, int64_t *shape,
                                             int32_t *dims);

/* Copies `count` float32 values in, all of the tensor's; the source may change once the call is
 * back. Returns OK; ERR_SHAPE if count is not the tensor's number of elements. */
CONVOY_API convoy_status convoy_tensor_write(convoy_tensor *tensor, const float *values,
                                             int64_t count);

/* Waits for the tensor and copies all its values out. Returns OK; ERR_SHAPE as above; ERR_MEMORY or
 * ERR_DEVICE with the sentence of what happened if its value could not be computed;
 * ERR_INTERRUPTED. Values untouched on failure, in memory of convoy_host_alloc undefined. */
CONVOY_API convoy_status convoy_tensor_read(convoy_tensor *tensor, float *values, int64_t count);

/* Has the host get the tensor's values, so that losing the device cannot lose them. Does not wait: the
 * device copies them out after what was enqueued before, into at most 64 MiB of memory, and public
 * calls take what has come, convoy_sync all of it. A device lost before that has lost no more than
 * without this call. Waits where the device cannot copy in the background: for a tensor larger than that,
 * or while 64 tensors or as many bytes are on their way. Returns as convoy_tensor_read; what goes
 * wrong in the background is made good, or told by every read of the tensor. */
CONVOY_API convoy_status convoy_commit(convoy_tensor *tensor);

/* The operations on tensors: formulas, beta, bias and epilogue as above. Asynchronous: arguments
 * are checked and the operation is enqueued; a later failure is reported by every read of the
 * output. With `run` not NULL the call waits for the result and fills it. The output tensor must
 * have the right shape already. All tensors belong to `context`.
 * Returns OK; ERR_ARGUMENT, ERR_SHAPE, ERR_UNSUPPORTED as above; with `run` also what waiting may
 * return. The output keeps its value on failure. */
CONVOY_API convoy_status convoy_forward(convoy_context *context, const convoy_conv *conv,
                                        const convoy_tensor *x, const convoy_tensor *w,
                                        const convoy_tensor *bias, const convoy_epilogue *epilogue,
                                        convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_backward_data(convoy_context *context, const convoy_conv *conv,
                                              const convoy_tensor *dy, const convoy_tensor *w,
                                              float beta, convoy_tensor *dx, convoy_run *run);
CONVOY_API convoy_status convoy_backward_weights(convoy_context *context, const convoy_conv *conv,
                                                 const convoy_tensor *x, const convoy_tensor *dy,
                                                 float beta, convoy_tensor *dw, convoy_run *run);
CONVOY_API convoy_status convoy_backward_bias(convoy_context *context, const convoy_conv *conv,
                                              const convoy_tensor *dy, float beta,
                                              convoy_tensor *db, convoy_run *run);

/* -------------------------------------------------------------------------------- algorithms */

/* Name of row `index` of the algorithm table of the context's device, in order of preference; NULL
 * past the end. Names are stable: "cpu.im2col", "ocl.implicit_gemm". */
CONVOY_API const char *convoy_algorithm_name(convoy_context *context, int32_t index);

/* From now on the context runs only the named algorithm, as options.algorithm; NULL or "" lets it
 * choose again. Returns OK, ERR_NOT_FOUND. */
CONVOY_API convoy_status convoy_set_algorithm(convoy_context *context, const char *name);

/* What would run for a problem. */
typedef struct convoy_plan {
  uint32_t struct_size;
  int32_t accepted; /* 1, or 0 with a reason */
  int64_t workspace_bytes;
  char algorithm[32];
  char parameters[128];
  char reason[192];    /* why it refuses; "" if it accepts */
  double error_growth; /* 0: results keep the bound of every result; else see Accuracy */
  int64_t error_reach;
} convoy_plan;

/* Asks algorithm `name`, or with NULL the context's choice, whether it takes the problem. Computes
 * nothing. Returns OK (also for a refusal), ERR_ARGUMENT, ERR_SHAPE, ERR_NOT_FOUND. */
CONVOY_API convoy_status convoy_plan_problem(convoy_context *context, const char *name,
                                             const convoy_conv *conv, convoy_direction direction,
                                             const int64_t *x_shape, const int64_t *w_shape,
                                             convoy_plan *out);

/* Says that a problem (beta 0, no epilogue) will be carried out soon: what the device has to be given compiled
 * for it is compiled in the background, as far as there are processes for that (CONVOY_COMPILE_WORKERS)
 * and once something else had to be compiled; the newest problem comes first. Nothing waits for it, nothing
 * needs it: a layer's other passes are prepared anyway when one of them runs. Returns OK, also where there is
 * nothing to prepare; ERR_ARGUMENT, ERR_SHAPE. */
CONVOY_API convoy_status convoy_prepare(convoy_context *context, const convoy_conv *conv,
                                        convoy_direction direction, const int64_t *x_shape,
                                        const int64_t *w_shape);

/* -------------------------------------------------------------------------------- tuning */

/* What came of tuning a problem. */
typedef struct convoy_tuned {
  uint32_t struct_size;
  int32_t tried;       /* candidates that ran */
  int32_t failed;      /* of them: wrong, or the device could not run them */
  int32_t kept;        /* 1: written down; 0: it stays as it was, `reason` says why */
  double untuned_ms;   /* one operation as chosen without tuning; 0 if that failed */
  double milliseconds; /* with the choice below */
  char algorithm[32];  /* what runs from now on */
  char parameters[128];
  char reason[192]; /* "" if it was kept */
} convoy_tuned;

/* Looks for the fastest algorithm and parameters for a problem (beta 0, no epilogue), for about
 * `seconds` (0: 2; never longer than half of device_wait_budget), and writes the choice into the tuning
 * file, from which this context and those opened later take it for this device with this driver.
 * Candidates run as any operation does and count only if every element of their result is right. Two
 * that differ by less than 1 %, or by less than repeated timing does, count as equally fast; where
 * timing says nothing at all, nothing is written. docs/tuning.md has the rest. Blocking.
 * Returns OK; ERR_INTERRUPTED after convoy_interrupt(), with what was found by then written down;
 * ERR_ARGUMENT, ERR_SHAPE; ERR_UNSUPPORTED if no algorithm takes the problem, or its class is not tuned
 * because of faults; ERR_IO if the file cannot be written; ERR_DEVICE, ERR_MEMORY. */
CONVOY_API convoy_status convoy_tune(convoy_context *context, const convoy_conv *conv,
                                     convoy_direction direction, const int64_t *x_shape,
                                     const int64_t *w_shape, double seconds, convoy_tuned *out);

/* ------------------------------------------------------------------------- health and events */

typedef struct convoy_health {
  uint32_t struct_size;
  uint32_t worker_pid;        /* 0 without a worker */
  int64_t operations;         /* operations carried out */
  int64_t device_operations;  /* of them on the device asked for */
  int64_t faults;             /* device faults seen */
  int64_t failovers;          /* operations computed elsewhere after a fault */
  int64_t downgrades;         /* everything logged as a downgrade */
  int64_t device_bytes;       /* device memory in use */
  int64_t device_bytes_peak;  /* its high-water mark */
  int64_t device_bytes_held;  /* device memory the arena holds */
  int64_t host_bytes;         /* host memory of stores, staging and workspaces */
  int64_t programs_compiled;  /* OpenCL programs built from source */
  int64_t programs_cached;    /* and taken from the disk cache */
  int64_t workers_abandoned;  /* worker processes that could not be ended */
  int64_t deadlines_missed;   /* faults that were a lack of progress */
  int64_t wrong_results;      /* results that did not stand their verification */
  int64_t verified;           /* results that were checked against the CPU, wholly or in a sample */
  int64_t verify_nanoseconds; /* spent doing so */
  int64_t history_bytes;      /* held only to recompute tensors that are on the device alone */
  int64_t retired_bytes;      /* memory a lost worker could still write; not reused */
  int64_t cpu_stalls;         /* times a thread of the CPU engine made no progress for too long */
  int64_t fallback_seconds; /* the CPU engine in place of the device asked for; 0: it is not now */
} convoy_health;

/* Counters since convoy_open; set out->struct_size first. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_get_health(convoy_context *context, convoy_health *out);

/* Tells the number of the training step that begins; the black box (docs/failover.md), fault reports
 * and nan_watch name it. Costs no more than a lock. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_mark_step(convoy_context *context, int64_t step);

typedef enum convoy_event_kind {
  CONVOY_EVENT_DOWNGRADE = 0, /* something slower or elsewhere than asked for */
  CONVOY_EVENT_FAULT = 1,     /* a device failed */
  CONVOY_EVENT_FAILOVER = 2,  /* an operation was computed elsewhere */
  CONVOY_EVENT_NONFINITE = 3  /* nan_watch: the first value that is infinite or not a number */
} convoy_event_kind;

typedef struct convoy_event {
  uint32_t struct_size;
  int32_t kind;   /* convoy_event_kind */
  int32_t status; /* convoy_status */
  int32_t reserved;
  char device[16];
  char algorithm[32];
  char message[256];
} convoy_event;

/* `fn` is called only on a thread that is inside a public call of this context, with no lock held;
 * it may call Convoy, except convoy_close. NULL stops it. Returns OK, ERR_ARGUMENT. */
typedef void convoy_event_fn(void *user, const convoy_event *event);
CONVOY_API convoy_status convoy_set_event_callback(convoy_context *context, convoy_event_fn *fn,
                                                   void *user);

/* The table of faults: which device, with which driver, failed at what, and what follows from it. It
 * is a file in CONVOY_STATE_DIR, shared by all processes of the user. Three faults of an algorithm on
 * one class of shapes take it, on the device, down a step: from the tuned choice to the conservative
 * algorithms, from those to the CPU; a day without a new fault forgives. Contexts that are open see a
 * change at their next fault. With failover off the table is neither written nor obeyed.
 * Also in it: each time the machine went down while a device was in use. After two of them the device
 * is not opened any more, and an algorithm that ran there for the first time just then is not used,
 * until they are forgotten; a power cut looks the same.
 *
 * fault_table: writes what is recorded of the devices in whose name `device` occurs (NULL: all), one line
 * for each fault's place and what is done about it, "" if there is nothing; lines that do not fit into
 * `size` bytes are left out. clear: forgets it. Any thread, no context.
 * Returns OK; ERR_ARGUMENT, also for a variable in the environment as convoy_open; ERR_IO if the file cannot
 * be read or written or is locked for too long. */
CONVOY_API convoy_status convoy_fault_table(const char *device, char *text, size_t size);
CONVOY_API convoy_status convoy_fault_table_clear(const char *device);

/* ------------------------------------------------------------------------------- measurement */

/* Measures what the context's device can do: fused multiply-adds from registers (GFLOP/s) and
 * copying memory (GB/s, read plus written). About a second, blocking. Either pointer may be NULL.
 * Returns OK, ERR_DEVICE, ERR_MEMORY. */
CONVOY_API convoy_status convoy_measure_peak(convoy_context *context, double *gflops,
                                             double *gigabytes_per_second);

#ifdef __cplusplus
}
#endif
#endif
