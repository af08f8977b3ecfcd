/* Convoy: convolution, forward and backward, on whatever device is there.
 *
 * This header, with framework.h, operations.h, graph.h, nn.h and state.h, which it includes, is the
 * whole public interface and its manual. It compiles alone as C11 and as C++11.
 * Words that are Convoy's own are explained in docs/glossary.md.
 *
 * The letters of shapes are the same everywhere:
 *   n batch   c input channels   z h w input extents   k output channels   t r s filter extents
 *   oz oh ow output extents   sz sh sw stride   pz ph pw padding   dz dh dw dilation   groups
 * Every array is dense, row-major float32 in the order NCHW: the last extent varies fastest.
 *   rank 1   x [N][C][W]         w [K][C/groups][S]           y [N][K][OW]
 *   rank 2   x [N][C][H][W]      w [K][C/groups][R][S]        y [N][K][OH][OW]
 *   rank 3   x [N][C][Z][H][W]   w [K][C/groups][T][R][S]     y [N][K][OZ][OH][OW]
 *   transposed:                  w [C][K/groups][T][R][S]     (as in PyTorch)
 * A bias has the shape [K]. dx, dw, dy and db, the gradients, have the shapes of x, w, y and bias.
 * Shapes are int64_t arrays of rank + 2 extents. Geometry arrays (stride, ...) use their first
 * `rank` entries, the outermost axis first: for rank 2 these are {h, w}. No extent of x, w or y,
 * batch included, and no entry of the geometry may exceed 2^31 - 1 (2147483647).
 *
 * Errors. A function that can fail returns a convoy_status; convoy_last_error() then gives one
 * sentence with the offending numbers. With any status but CONVOY_OK the outputs are untouched.
 * Below, "Returns" lists the statuses of a function without their prefix CONVOY_. Every function
 * may also return ERR_ARGUMENT for a NULL where none is allowed and for a context that is closed or
 * none of Convoy's, and ERR_MEMORY when host memory is exhausted.
 *
 * Threads. Contexts and tensors may be used from any thread. The operations of one context are
 * carried out in the order of their calls; different contexts are independent of each other. After
 * fork() the child may use a context that it inherited: its operations run on the CPU. A call needs
 * 128 KiB of its thread's stack; convoy_open and convoy_devices check that they have it.
 *
 * Structs begin with struct_size, which the caller sets to their sizeof. Later versions may add
 * fields at the end. Where the caller's struct is that of an earlier header, the library neither
 * reads nor writes beyond it.
 *
 * What there is not, yet: access to OpenCL's buffers or queues, another layout than NCHW, results
 * of another data type than float32.
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
#define CONVOY_MAX_DIMS 5 /* batch, channels and at most three spatial extents */

/* What the elements of an array are. Convolutions and all results are float32; the others are
 * inputs of programs: labels, indices, images, masks. */
typedef enum convoy_dtype { CONVOY_FLOAT32 = 0, CONVOY_INT32 = 1, CONVOY_UINT8 = 2 } convoy_dtype;
#define CONVOY_DTYPES 3

/* ------------------------------------------------------------------------------------ status */

typedef enum convoy_status {
  CONVOY_OK = 0,
  CONVOY_ERR_ARGUMENT = 1,    /* a pointer is NULL, a field is out of range, a context is closed */
  CONVOY_ERR_SHAPE = 2,       /* shapes disagree, or the filter does not fit the padded input */
  CONVOY_ERR_MEMORY = 3,      /* host or device memory is exhausted */
  CONVOY_ERR_DEVICE = 4,      /* a device failed, vanished, or its process died */
  CONVOY_ERR_UNSUPPORTED = 5, /* a named algorithm refuses the problem, or a part was not built */
  CONVOY_ERR_IO = 6, /* a file could not be read or written, or a message to the worker process
                        was lost, which is no fault of the device */
  CONVOY_ERR_NOT_FOUND = 7,   /* no device or algorithm of that name */
  CONVOY_ERR_INTERRUPTED = 8, /* convoy_interrupt() was called */
  CONVOY_ERR_DEADLINE = 9, /* a device made no progress within its deadline, or its budget ended */
  CONVOY_ERR_WRONG = 10    /* a device's result did not stand its verification */
} convoy_status;

/* Returns the constant's name, such as "CONVOY_ERR_SHAPE", or "unknown status" for a number that is
 * none of them; never NULL. May be called from any thread. */
CONVOY_API const char *convoy_status_name(convoy_status status);

/* Returns the sentence of the calling thread's last failed call, or "" if none has failed; never
 * NULL. The text is valid until the next call of this thread that fails. */
CONVOY_API const char *convoy_last_error(void);

/* Returns the version and the build's id, "0.2.0 (build id)", in static storage. A worker process
 * with another build id is refused. */
CONVOY_API const char *convoy_version(void);

/* --------------------------------------------------------------------------------------- log */

typedef enum convoy_log_level {
  CONVOY_LOG_OFF = 0,
  CONVOY_LOG_ERROR = 1,
  CONVOY_LOG_WARNING = 2, /* each downgrade (see convoy_health) is one line of this level */
  CONVOY_LOG_INFO = 3,
  CONVOY_LOG_DEBUG = 4
} convoy_log_level;

/* Is called with one line of the log, without a newline, on any thread. It must not call Convoy. */
typedef void convoy_log_fn(void *user, convoy_log_level level, const char *line);

/* Sends the lines of the log up to `level` to `fn`, for the whole process. NULL restores the
 * default, which writes them to stderr after the time (UTC): "convoy: 2026-11-23T05:07:09Z: ...".
 * In a job of several processes the line also names the process's rank, "convoy:
 * 2026-11-23T05:07:09Z rank 3: ..."; convoy_open takes it from RANK, OMPI_COMM_WORLD_RANK,
 * PMI_RANK, SLURM_PROCID or, where none of these is set, LOCAL_RANK. Until the first call of this
 * function the level is that of the variable CONVOY_LOG (off, error, warning, info, debug), by
 * default warning. */
CONVOY_API void convoy_set_log(convoy_log_fn *fn, void *user, convoy_log_level level);

/* ----------------------------------------------------------------------------------- options */

typedef enum convoy_switch { CONVOY_DEFAULT = 0, CONVOY_ON = 1, CONVOY_NO = 2 } convoy_switch;

/* Which results of a device are verified against the CPU (docs/failover.md). */
typedef enum convoy_verify {
  CONVOY_VERIFY_DEFAULT = 0, /* CONVOY_VERIFY, else sample */
  CONVOY_VERIFY_SAMPLE = 1,  /* an algorithm before its first use, then a sample of the results */
  CONVOY_VERIFY_ALL = 2,     /* every element of every result, before it is handed out */
  CONVOY_VERIFY_OFF = 3      /* none */
} convoy_verify;

typedef enum convoy_isolation {
  CONVOY_ISOLATION_DEFAULT = 0, /* CONVOY_ISOLATION, else process */
  CONVOY_ISOLATION_PROCESS = 1, /* the driver runs in a process of its own */
  CONVOY_ISOLATION_NONE = 2,    /* it runs in this process, which does not survive its crash */
  CONVOY_ISOLATION_CALLER = 3   /* the same, on the threads that call, which no deadline frees: for
                                   a framework's memory (framework.h) */
} convoy_isolation;

/* A team lends the threads that a program has anyway to the CPU engine, so that the engine need
 * not start its own for the same cores. It calls member(arg) once on each of its threads, the
 * calling one among them, and returns when all these calls have returned; a team of one thread
 * calls it once. It may be called by several threads at the same time. `count` and `flags` are 0,
 * which means all of its threads. GOMP_parallel of an OpenMP runtime is such a team. */
typedef void convoy_team_member(void *arg);
typedef void convoy_team(convoy_team_member *member, void *arg, unsigned count, unsigned flags);

/* How a context is opened. A field that is zero or NULL means: the value of the environment
 * variable, or if that is not set the default.
 *
 *   field              environment               default   meaning
 *   device             CONVOY_DEVICE             auto      auto, cpu, ocl, hip:1 or a part of a
 *                                                          device's name
 *   algorithm          CONVOY_ALGORITHM          (choose)  run this algorithm only; a problem that
 *                                                          it refuses is ERR_UNSUPPORTED
 *   isolation          CONVOY_ISOLATION          process   process, none, caller: see
 *                                                          convoy_isolation
 *   failover           CONVOY_FAILOVER           1         0: a device's fault is returned as an
 *                                                          error, and nothing computed elsewhere
 *   require_device     CONVOY_REQUIRE_DEVICE     0         1: convoy_open fails where it would open
 *                                                          the CPU engine in place of the device
 *   threads            CONVOY_THREADS            cores     number of threads of the CPU engine; the
 *                                                          default is no more than the affinity
 *                                                          mask, the control group's quota and
 *                                                          OpenMP's settings (OMP_NUM_THREADS,
 *                                                          OMP_THREAD_LIMIT) allow
 *   workspace_limit    CONVOY_WORKSPACE_LIMIT    1 GiB     bytes of scratch memory that one
 *                                                          operation may use
 *   memory_limit       CONVOY_MEMORY_LIMIT       (all)     bytes of device memory that the context
 *                                                          may use: graphs compute again what has
 *                                                          no room, and what then has none is
 *                                                          computed in pieces or by the CPU
 *   tune               CONVOY_TUNE               1         0: the first algorithm of the table that
 *                                                          accepts, whatever tuning has found
 *   device_wait_budget CONVOY_DEVICE_WAIT_BUDGET 60        seconds that one public call may wait
 *                                                          for a device, all its attempts together.
 *                                                          Not counted are its own computations,
 *                                                          calls that come before it, and the time
 *                                                          in which the program is stopped
 *   team               CONVOY_TEAM               (choose)  a convoy_team, whose threads the CPU
 *                                                          engine uses; in the environment openmp
 *                                                          or pool. By default OpenMP's threads,
 *                                                          unless more are asked for than OpenMP
 *                                                          has, and a pool of its own while others
 *                                                          want the processors. In a forked child
 *                                                          and without OpenMP always the pool
 *   -                  CONVOY_DEADLINE           (docs)    seconds without progress after which a
 *                                                          device counts as hung, some or all of
 *                                                          run=10,compile=30,transfer=10,probe=10,
 *                                                          start=20; also restarts=6 (new workers
 *                                                          within ten minutes), dispatch=0.25
 *                                                          (seconds one kernel launch may take)
 *   verify             CONVOY_VERIFY             sample    all, sample, off: see convoy_verify
 *   nan_watch          CONVOY_NAN_WATCH          0         1: report the first value that is
 *                                                          infinite or not a number
 *   winograd           CONVOY_WINOGRAD           1         0: no algorithm with another error bound
 *                                                          than that of all (see Accuracy)
 *   history_limit      CONVOY_HISTORY_LIMIT      1 GiB     bytes held only to compute tensors anew
 *                                                          that a lost device had
 *   -                  CONVOY_CPU_STALL          60        seconds without progress after which the
 *                                                          CPU engine logs what hangs (0: never)
 *   -                  CONVOY_CPU_ISA            (best)    avx512, avx2, baseline: instruction set
 *                                                          of the CPU engine's inner loops
 *   -                  CONVOY_STATE_DIR          XDG       folder of the fault table, of reports
 *                                                          and of what is known about devices, by
 *                                                          default $XDG_STATE_HOME/convoy
 *   -                  CONVOY_FAULT_LIMIT        3         faults that take a device down a level
 *                                                          (see convoy_fault_table); 0: faults have
 *                                                          no consequence and are not recorded
 *   -                  CONVOY_LOG                warning   see convoy_set_log
 *   -                  CONVOY_CACHE_DIR          XDG       folder of compiled programs, by default
 *                                                          $XDG_CACHE_HOME/convoy
 *   -                  CONVOY_COMPILE_WORKERS    (cores/2) number of processes that compile a
 *                                                          device's programs ahead of time, 0 to
 *                                                          64. By default at most 8 and at most one
 *                                                          for each 2 GiB of device memory; none on
 *                                                          two cores or for a device of type CPU
 *   -                  CONVOY_TUNE_FILE          XDG       file of tuned choices, by default
 *                                                          $XDG_CONFIG_HOME/convoy/tune.txt
 *   -                  CONVOY_RUNTIMES           (all)     through what devices are looked for:
 *                                                          all, none or some of ocl, hip, cuda,
 *                                                          with commas between
 *   -                  CONVOY_GRAPH_PASSES       all       passes over graphs: all, none or some of
 *                                                          common, fuse, merge, recompute, views
 *   -                  CONVOY_LIBEXEC            (library) folder of convoy-worker and
 *                                                          convoy-ocl.so, by default one beside the
 *                                                          library
 *
 * Relative names of folders and files count from the working directory that the process had when it
 * first used one. A file that others than the user and root may write to is not used, and one line
 * of log says so. For convoy-worker and convoy-ocl.so this goes for all folders above them too, but
 * for those with the sticky bit, as /tmp has it; and whoever may replace the library itself may
 * write to them as well (docs/decisions/049-whose-code-is-run.md).
 *
 * In a program that was started with more rights than its caller has (setuid, setgid, capabilities
 * of its file) the environment is the caller's: no variable counts, neither of these nor HOME and
 * those of XDG, and workers are started without any. Such a program says in its options what it
 * wants, and keeps no files; its worker is the one beside the library.
 *
 * `auto` is a GPU through OpenCL (`ocl:0`) if there is one, else one through HIP (`hip:0`), else
 * one through CUDA's driver (`cuda:0`), else the CPU engine; a card may be listed once for each. An
 * OpenCL device of type CPU is used only if it is named. With `cpu` no library of these is loaded,
 * no process is started and no device file is opened. Names are compared without surrounding blanks
 * and regardless of case. `cpu:0` is `cpu`; there is no other number of a CPU engine. */
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
  convoy_team *team;         /* its threads compute for the CPU engine; NULL: the engine's choice */
  int32_t require_device;    /* convoy_switch */
  int32_t reserved3;         /* 0 */
  int64_t memory_limit;      /* bytes, >= 0 */
} convoy_options;

#define CONVOY_OPTIONS_INIT \
  { sizeof(convoy_options), 0, 0, 0, 0, 0, 0, NULL, NULL, 0.0, 0, 0, 0, 0, 0, NULL, 0, 0, 0 }

/* ----------------------------------------------------------------------------------- devices */

typedef enum convoy_device_type {
  CONVOY_DEVICE_CPU_ENGINE = 0, /* Convoy's own, which is always there */
  CONVOY_DEVICE_GPU = 1,
  CONVOY_DEVICE_CPU = 2, /* an OpenCL device that is a processor, such as PoCL's */
  CONVOY_DEVICE_ACCELERATOR = 3
} convoy_device_type;

typedef struct convoy_device_info {
  uint32_t struct_size;
  int32_t type;          /* convoy_device_type */
  int32_t simulator;     /* 1: a simulator such as oclgrind; the tool's "all" leaves it out */
  int32_t compute_units; /* of the CPU engine: its threads */
  int32_t clock_mhz;     /* 0 if unknown */
  int32_t reserved;
  int64_t memory_bytes;
  int64_t max_allocation_bytes;
  int64_t local_memory_bytes;
  char id[16];        /* "cpu", "ocl:0", ...: what CONVOY_DEVICE takes */
  char name[128];     /* of the device */
  char platform[128]; /* OpenCL platform; instruction set of the CPU engine */
  char driver[128];   /* the driver's version; the CPU engine's BLAS library */
} convoy_device_info;

/* Lists the devices of this machine, the CPU engine first, then every OpenCL device. Writes the
 * first `capacity` of them to `out` and the number of all to *count. The caller sets struct_size
 * of out[0], which counts for all entries, if capacity > 0. OpenCL is asked in a worker process,
 * or in this one if `options`, which may be NULL, has isolation none. Where OpenCL cannot be
 * asked, only the CPU engine is listed, and the reason is written to `why`, a text of `why_size`
 * bytes or NULL; otherwise `why` becomes "". The call blocks. Returns OK, ERR_ARGUMENT,
 * ERR_MEMORY. */
CONVOY_API convoy_status convoy_devices(const convoy_options *options, convoy_device_info *out,
                                        int32_t capacity, int32_t *count, char *why,
                                        size_t why_size);

/* Returns what was compiled in, in static storage: lines "name: yes|no, detail" about the OpenCL
 * module, CLBlast, OpenBLAS and the instruction sets. */
CONVOY_API const char *convoy_build_info(void);

/* ----------------------------------------------------------------------------------- context */

typedef struct convoy_context convoy_context;

/* Opens a device and writes a context for it to *out. `options` may be NULL. A name that no device
 * has, nor ever had on this machine, is a mistake: ERR_NOT_FOUND, whatever the options are, with a
 * sentence that names the devices there are. Devices that were seen once are remembered in
 * CONVOY_STATE_DIR/devices.txt; if that cannot be written, only the present ones count.
 * A device that was there and is gone, or that cannot be opened, is a fault: with failover on the
 * CPU engine is opened in its place. So it is for `ocl` where OpenCL has no device. One line of log
 * says so, and again in every hour in which a call uses the context; convoy_context_describe and
 * fallback_seconds of convoy_health tell it at any time. Of `auto` without a GPU one line at level
 * info tells.
 * Returns OK; ERR_ARGUMENT for an option or an environment variable with a bad value, whichever
 * device is opened, and for a variable that is set under its name of before version 0.2, with a
 * sentence that names the new one; ERR_NOT_FOUND for a mistake. With failover off, or
 * require_device on, it also returns ERR_DEVICE, ERR_DEADLINE or ERR_MEMORY for a fault, and
 * ERR_NOT_FOUND if `ocl`, or with require_device `auto`, finds no device. ERR_MEMORY is also
 * returned if the thread's stack is too small. The call blocks: it starts the worker process. */
CONVOY_API convoy_status convoy_open(const convoy_options *options, convoy_context **out);

/* Waits for the operations that were enqueued, ends the worker and frees everything but the
 * tensors. Tensors may be freed afterwards; any other use of them is ERR_ARGUMENT. No other call
 * may use the context during this one or after it. NULL is allowed. */
CONVOY_API void convoy_close(convoy_context *context);

/* Describes the device that the context computes on now, which is the CPU engine where that has
 * taken a device's place. Set out->struct_size first. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_context_device(convoy_context *context, convoy_device_info *out);

#define CONVOY_DESCRIPTION_TEXT 640 /* bytes that are enough for every description */

/* Writes one line for people: which device the context computes on and why that one, and where it
 * is the CPU engine in place of another device, which one that is, for how long and why. A line
 * that does not fit into `size` bytes, terminator included, is cut. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_context_describe(convoy_context *context, char *text, size_t size);

/* Waits until all operations that were enqueued on the context are done. Returns OK; ERR_MEMORY;
 * ERR_DEVICE if the device failed and failover is off; ERR_INTERRUPTED. */
CONVOY_API convoy_status convoy_sync(convoy_context *context);

/* Makes the wait that is under way in the context, or the next one (of convoy_sync,
 * convoy_tensor_read or convoy_tune), return ERR_INTERRUPTED, once. It may be called from a signal
 * handler. The context must not be closed; NULL is ignored. */
CONVOY_API void convoy_interrupt(convoy_context *context);

/* ------------------------------------------------------------------------------- convolution */

typedef enum convoy_direction {
  CONVOY_FORWARD = 0,
  CONVOY_BACKWARD_DATA = 1,
  CONVOY_BACKWARD_WEIGHTS = 2,
  CONVOY_BACKWARD_BIAS = 3
} convoy_direction;
#define CONVOY_DIRECTIONS 4

/* Geometry of a convolution, without the extents of its arrays, which come with the arrays. Only
 * the first `rank` entries of each field are read.
 *
 * Legal are: rank 1 to 3; groups, stride and dilation >= 1; padding >= 0 on each side, in
 * elements; output_padding >= 0 and smaller than the stride or the dilation of its axis, and 0
 * unless transposed. */
typedef struct convoy_conv {
  uint32_t struct_size; /* sizeof(convoy_conv) */
  int32_t rank;
  int32_t dtype;      /* CONVOY_FLOAT32 */
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

/* Writes the extents of y for given extents of x and w, rank + 2 entries each. On each spatial
 * axis, with i = input, o = output, d = dilation, f = filter, p = pad_begin + pad_end:
 *   o = floor((i + p - d (f - 1) - 1) / stride) + 1
 *   transposed: o = (i - 1) stride - p + d (f - 1) + output_padding + 1
 * (as PyTorch documents Conv2d and ConvTranspose2d, but with a padding for each side).
 * Returns OK; ERR_ARGUMENT for an illegal field of conv; ERR_SHAPE if channels and groups do not
 * fit, if an extent other than N is < 1 or any is above 2^31 - 1, if the filter is larger than the
 * padded input, or if the bytes of an array exceed int64_t. N = 0 is legal. May be called from any
 * thread and needs no context. */
CONVOY_API convoy_status convoy_output_shape(const convoy_conv *conv, const int64_t *x_shape,
                                             const int64_t *w_shape, int64_t *y_shape);

/* Returns the number of multiplications and additions of one direction: two for each product, and
 * additions only for the bias. Every tap counts for every output, also where it meets padding.
 * Returns 0 on an error. */
CONVOY_API double convoy_flops(const convoy_conv *conv, convoy_direction direction,
                               const int64_t *x_shape, const int64_t *w_shape);

#define CONVOY_PROBLEM_TEXT 384 /* bytes that are enough for every problem */

/* A problem, which is a convolution with all its shapes and a direction, as one line of text, and
 * back. Logs, sentences, reports and files write problems so. Its words are separated by one space:
 *   n<N>c<C>[z<Z>][h<H>]w<W> k<K>[t<T>][r<R>]s<S> [stride<v>] [pad<p>] [dil<v>] [groups<g>]
 *   [transposed] [outpad<v>] <direction>
 * where v is one number for all axes or one for each, the outermost first, joined by commas; p is
 * the same of numbers or of pairs begin:end; the direction is forward, backward_data,
 * backward_weights or backward_bias. C and K are the channels of x and y, also if transposed. For
 * example:
 *   n2c6h17w14 k4r3s4 stride2,5 pad1:0,3 dil4,2 groups2 forward
 * The gradient of a bias, which needs no filter, is written with a filter of one element and one
 * channel.
 * convoy_parse_problem writes conv, both shapes (CONVOY_MAX_DIMS entries each) and the direction.
 * It returns OK; ERR_ARGUMENT with the place of the mistake; ERR_SHAPE if the problem is not legal.
 * convoy_format_problem writes at most `size` bytes, terminator included, and returns OK, or
 * ERR_ARGUMENT if they are too few; CONVOY_PROBLEM_TEXT bytes never are. Both may be called from
 * any thread and need no context. */
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

/* What forward does with v = conv(x, w) before it stores it: y = activation(v + bias[k]). */
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
  int32_t attempts;    /* 1, or more if a device failed first */
  int32_t first_fault; /* convoy_status of the first attempt that failed; CONVOY_OK if none did */
  int32_t reserved;
  double milliseconds;     /* wall-clock time of the call, waiting included */
  int64_t workspace_bytes; /* scratch memory that the algorithm used */
  char device[16];         /* id of the device that computed the result, such as "cpu" */
  char algorithm[32];      /* such as "cpu.im2col" */
  char parameters[128];    /* such as "TM=64 TN=64 ...", "" if it has none */
  char fault[256];         /* sentence of the first fault, "" if there was none */
} convoy_run;

#define CONVOY_RUN_INIT \
  { sizeof(convoy_run), 0, 0, 0, 0.0, 0, "", "", "", "" }

/* The operations on arrays in host memory. The calls are synchronous, and their pointers are used
 * only until they return. An output may not overlap another array; x, w, dy and bias may be the
 * same array. The sizes of arrays follow from conv, x_shape and w_shape (rank + 2 extents each;
 * also where x or w itself is no operand). `run` may be NULL; otherwise set run->struct_size first.
 *
 *   forward           y[n][k][o] = act(bias[k] + sum over c, f of
 *                       x[n][c][o s - p + f d] w[k][c][f])
 *                     c runs over the group's channels, f over the filter; x outside is 0
 *   backward_data     dx = beta dx + the transpose of forward, as a function of x, applied to dy
 *   backward_weights  dw = beta dw + the transpose of forward, as a function of w, applied to dy
 *   backward_bias     db[k] = beta db[k] + sum over n, o of dy[n][k][o]
 * (a cross-correlation, as in PyTorch; a transposed convolution exchanges the roles of x and y.)
 *
 * beta is 1, or 0, with which the output is not read and may hold NaN. bias and epilogue may be
 * NULL. With N = 0 nothing is written, but for dw and db, which become 0 with beta = 0.
 *
 * Accuracy. With len the number of terms that are summed,
 *   |y - exact| <= 4 (len + 2) 2^-24 sum|x||w|
 * holds for all algorithms but Winograd's, which mix neighbouring values and which options.winograd
 * = CONVOY_NO forbids. For these convoy_plan has an error_growth g and an error_reach, and
 *   |y - exact| <= 4 (len + 2) 2^-24 (sum|x||w| + g sum X|w|)
 * where X is the largest |x| of the channel in the window that the output reads, widened by
 * error_reach on both sides of each axis with more than one tap. For backward_data x is dy, and the
 * window holds the outputs that read the input; for backward_weights the last sum is that of X|dy|,
 * with the window of each dy.
 * Denormal operands and results may count as 0. Padding is a 0 that may take part in products, and
 * zeros may stand between rows: near an operand that is infinite or NaN a result may be NaN where
 * the formulas above give a finite one.
 * The same inputs, device, driver, number of threads and tuning file give the same bits. On the CPU
 * engine the number of threads does not matter, but for products that OpenBLAS makes (cpu.im2col,
 * cpu.matmul_blas) and where workspace_limit leaves less memory than an operation asks for.
 *
 * Returns OK; ERR_ARGUMENT for a NULL, an illegal field or another beta; ERR_SHAPE as
 * convoy_output_shape; ERR_UNSUPPORTED if the algorithm that was asked for by name refuses; with
 * failover off the device's ERR_DEVICE, ERR_DEADLINE, ERR_WRONG or ERR_MEMORY. Outputs are
 * untouched on failure, but for memory of convoy_host_alloc. */
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

/* Writes to *out the address of `bytes` bytes of memory that the worker process reaches too; use it
 * for the arrays of the functions above and of convoy_tensor_read, which then need no copy in
 * between. Results with beta 0 are written there by the device itself, so that the contents are
 * undefined after a call that failed. The memory is zero and aligned to 4096 bytes. After fork()
 * parent and child share it; it is not copied on write. Free it with convoy_host_free, before
 * convoy_close or after it, but never while a call uses it. Without a worker it is ordinary memory.
 * With bytes = 0, *out is NULL.
 * Returns OK, ERR_MEMORY. */
CONVOY_API convoy_status convoy_host_alloc(convoy_context *context, size_t bytes, void **out);
CONVOY_API void convoy_host_free(convoy_context *context, void *memory);

/* ----------------------------------------------------------------------------------- tensors */

/* A tensor is a handle to an immutable array. An operation reads the arrays that its tensors have
 * when it is called, and on success gives its output tensor a new array. So a tensor may be the
 * output of one call while an earlier one still reads it, and may be both input and output of a
 * call. */
typedef struct convoy_tensor convoy_tensor;

/* Makes a tensor of `dims` extents, 1 to CONVOY_MAX_DIMS of them and each >= 0, all elements 0.0.
 * Returns OK; ERR_ARGUMENT; ERR_SHAPE for a negative extent or if its bytes exceed int64_t. */
CONVOY_API convoy_status convoy_tensor_new(convoy_context *context, int32_t dims,
                                           const int64_t *shape, convoy_tensor **out);
/* The same of another type than float32. Only programs read such tensors; nothing writes them but
 * convoy_tensor_write. ERR_ARGUMENT for a type that is none. */
CONVOY_API convoy_status convoy_tensor_new_typed(convoy_context *context, convoy_dtype dtype,
                                                 int32_t dims, const int64_t *shape,
                                                 convoy_tensor **out);

/* Frees the handle; operations that were enqueued with it are still carried out. It may be called
 * after convoy_close. NULL is allowed. */
CONVOY_API void convoy_tensor_free(convoy_tensor *tensor);

/* Writes the tensor's extents to `shape`, CONVOY_MAX_DIMS entries of which unused ones become 1,
 * and their number to *dims. Returns OK, ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_tensor_shape(const convoy_tensor *tensor, int64_t *shape,
                                             int32_t *dims);
CONVOY_API convoy_status convoy_tensor_dtype(const convoy_tensor *tensor, convoy_dtype *dtype);

/* Gives the tensor new values, `count` of its type, which is its number of elements. They are
 * copied before the call returns. Returns OK; ERR_SHAPE if count is another number. */
CONVOY_API convoy_status convoy_tensor_write(convoy_tensor *tensor, const void *values,
                                             int64_t count);

/* Waits until the tensor's values have been computed and copies them all, `count` of its type, to
 * `values`.
 * Returns OK; ERR_SHAPE if count is not the tensor's number of elements; ERR_MEMORY, or the status
 * of the device's fault with its sentence, if they could not be computed; ERR_INTERRUPTED. On
 * failure `values` are untouched, in memory of convoy_host_alloc undefined. */
CONVOY_API convoy_status convoy_tensor_read(convoy_tensor *tensor, void *values, int64_t count);

/* convoy_tensor_write and convoy_tensor_read for many tensors of one context: the weights of a
 * network, its gradients. values[i] has counts[i] elements. What a tensor has already, as the host
 * knows without asking the device, is not sent again. Reading asks the device for all of them
 * before it waits for the first. Return what these do, and ERR_UNSUPPORTED for wrapped memory; on
 * failure no tensor, and no value outside of memory of convoy_host_alloc, has changed. */
CONVOY_API convoy_status convoy_tensors_write(int32_t count, convoy_tensor *const tensors[],
                                              const void *const values[], const int64_t counts[]);
CONVOY_API convoy_status convoy_tensors_read(int32_t count, convoy_tensor *const tensors[],
                                             void *const values[], const int64_t counts[]);

/* Writes as convoy_tensors_write does, but `values` are copied later: they have to stay as they are
 * until convoy_return_lent, which makes the copies. Between the two a device computes with them
 * already. It returns ERR_MEMORY if there is none for a copy: the values are then only where the
 * device has them, or nowhere, and `values` are the caller's again all the same. */
CONVOY_API convoy_status convoy_tensors_lend(int32_t count, convoy_tensor *const tensors[],
                                             const void *const values[], const int64_t counts[]);
CONVOY_API convoy_status convoy_return_lent(convoy_context *context);

/* `to` gets the values that `from` has, under its own extents, which may be others with as many
 * elements: [8][16][4][4] becomes [8][256]. Nothing is moved and nothing waits: both share one
 * array until one of them gets other values, so this also keeps what a tensor has before a graph
 * gives it something new. While operations are captured it is part of the capture, and costs a run
 * nothing.
 * Returns OK; ERR_SHAPE if their numbers of elements differ; ERR_ARGUMENT if their types or their
 * contexts do; ERR_UNSUPPORTED for wrapped memory, which somebody else may change. */
CONVOY_API convoy_status convoy_tensor_copy(const convoy_tensor *from, convoy_tensor *to);

/* Begins to copy the tensor's values to the host, so that losing the device cannot lose them. It
 * does not wait: the device copies them after the operations that were enqueued before, into at
 * most 64 MiB of memory, from which the following public calls take them (convoy_sync takes all).
 * If the device is lost before that, they are computed anew as without this call. It does wait
 * where the device cannot copy in the background: for a tensor larger than 64 MiB, and while 1024
 * tensors or as many bytes are on their way. Returns as convoy_tensor_read does; what fails in the
 * background is made good, or is returned by every read of the tensor. */
CONVOY_API convoy_status convoy_commit(convoy_tensor *tensor);

/* The operations on tensors; formulas, beta, bias and epilogue are those of the operations on host
 * memory. The calls are asynchronous: they check their arguments and enqueue the operation, and a
 * failure after that is returned by every read of the output. If `run` is not NULL the call waits
 * for the result and fills it. The output tensor must have the output's shape already, and all
 * tensors must belong to `context`.
 * Returns OK; ERR_ARGUMENT, ERR_SHAPE and ERR_UNSUPPORTED as on host memory; with `run` also what
 * waiting may return. On failure the output tensor keeps its values. */
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

/* ------------------------------------------------------------------------ programs on tensors */

/* An elementwise program computes up to 8 results from up to 16 inputs, each element by itself; a
 * reduction does that and then puts the elements along some of the axes n c z h w together: their
 * sum, mean, variance, maximum or minimum. A program is written as a text:
 *
 *   y = x * sigmoid(x)
 *   v = momentum * v + g; w = w - rate * v
 *   mean = mean over n z h w of x; variance = variance over n z h w of x
 *
 * What is read before anything was assigned to it is an input, what is assigned a result; a name
 * can be both. docs/programs_language.md is the language's manual. Results of programs are defined
 * bit for bit and are the same on every device; reductions add in one order everywhere. Operations
 * on denormal numbers are excepted: a device may take them for 0.
 *
 * A program belongs to no context and never changes: any number of threads may use it. */
typedef struct convoy_program convoy_program;

/* Makes a program of its text, to be freed with convoy_program_free. Returns OK; ERR_ARGUMENT with
 * the column of what is wrong, or for more than 16383 characters, 64 instructions, 16 inputs, 8
 * results or 32 constants. ERR_MEMORY is also returned if the thread's stack is too small. */
CONVOY_API convoy_status convoy_program_parse(const char *text, convoy_program **out);
/* Makes one of the programs that have a name: "relu", "silu", "adamw" and others; the CPU engine
 * has a loop of its own for each that is elementwise. Returns OK, ERR_NOT_FOUND. */
CONVOY_API convoy_status convoy_program_named(const char *name, convoy_program **out);
/* Returns the name of the i-th of them, from 0 on, in static storage, and NULL past the end. */
CONVOY_API const char *convoy_program_name(int32_t i);

/* Makes the program that computes the gradients of a loss for inputs of `program`: for those whose
 * names are in `of`, with blanks between them, or with NULL for all; for 1 to 4 at once. For each
 * result r of `program` that they have any part in, it reads the loss's gradient for r, an input
 * called "d_r". It also reads those inputs of `program` that it needs, under their names; they come
 * first. Its results are called "d_x" for each input x that was asked for, in the order of
 * `program`'s inputs, and have the extents of the results of `program`, or of what a reduction goes
 * over: the gradient of an input that is repeated along an axis has still to be summed along it.
 * Returns OK; ERR_ARGUMENT for a name that is none, or if "d_r" is the name of an input;
 * ERR_UNSUPPORTED if the gradient is no program: it is too long, or `program` reduces by something
 * else than sums. */
CONVOY_API convoy_status convoy_program_gradient(const convoy_program *program, const char *of,
                                                 convoy_program **out);

/* Frees the program; operations that were enqueued with it are still carried out. No call may use
 * it during this one or after it. NULL is allowed. */
CONVOY_API void convoy_program_free(convoy_program *program);

#define CONVOY_PROGRAM_TEXT 16384 /* bytes that are enough for every program */

/* Writes the program in its canonical form with its own names, which makes the same program when it
 * is parsed. Returns OK; ERR_ARGUMENT if `size` bytes, terminator included, are too few;
 * CONVOY_PROGRAM_TEXT bytes never are. */
CONVOY_API convoy_status convoy_program_text(const convoy_program *program, char *text,
                                             size_t size);
/* Return the names of the i-th input and the i-th result, from 0 on, and NULL past the end. Inputs
 * are in the order in which the text first reads them or lists them, results in that in which it
 * assigns them. The names live as long as the program. */
CONVOY_API const char *convoy_program_input(const convoy_program *program, int32_t i);
CONVOY_API const char *convoy_program_result(const convoy_program *program, int32_t i);

/* Carries out a program: inputs[i] is what convoy_program_input(program, i) names, outputs[k] what
 * convoy_program_result(program, k) names. A tensor may be several inputs, and an output may be an
 * input; no two outputs are one tensor.
 *
 * Extents. A tensor of 1 extent is [c], of 2 [n][c], of 3 [n][c][w], of 4 [n][c][h][w], of 5
 * [n][c][z][h][w]; extents that it has not are 1. All results of an elementwise program have the
 * same extents. An input has along each axis their extent or 1, and is then repeated along that
 * axis: a tensor of one element is one number for all, one of 1 extent is one number per channel. A
 * reduction goes over the largest extents of its inputs; its results have those of the axes that
 * are not reduced, with or without extents of 1 for the others.
 *
 * Inputs may be CONVOY_INT32 or CONVOY_UINT8; their values count as float32, rounded where they
 * have more than 24 bits. Outputs are float32.
 *
 * The call is asynchronous, as those of convolutions are. Returns OK; ERR_ARGUMENT; ERR_SHAPE with
 * the names of the operands and both extents; otherwise as convoy_forward does. `run` as there. */
CONVOY_API convoy_status convoy_apply(convoy_context *context, const convoy_program *program,
                                      const convoy_tensor *const inputs[],
                                      convoy_tensor *const outputs[], convoy_run *run);

#define CONVOY_MAX_OPERANDS 24 /* inputs and results of a program together */

/* An operation as one line of text, as logs, sentences and reports write it, which is a program and
 * the extents it goes over; behind them which inputs have an element not for each place, but for
 * each channel, image_channel (n and c), position (z, h and w) or one for all, and which are not
 * float32:
 *
 *   y = x * sigmoid(x + b) on n32c64h80w80 b:channel
 *   s = sum over n z h w of x * mask on n4c3z5h6w7 mask:full:uint8
 *
 * convoy_parse_operation makes the program and, for its inputs and then its results, in the order
 * of convoy_apply, their types and all five extents n c z h w, of which those that a tensor has not
 * are 1; both have room for CONVOY_MAX_OPERANDS. Returns OK; ERR_ARGUMENT with the place of the
 * mistake; ERR_UNSUPPORTED for a text that tensors of their own do not make. May be called from any
 * thread. */
CONVOY_API convoy_status convoy_parse_operation(const char *text, convoy_program **out,
                                                convoy_dtype *dtypes,
                                                int64_t shapes[][CONVOY_MAX_DIMS]);

/* Begins a new sequence of random numbers. Those of random(i) in an operation depend on the seed,
 * on how many operations of the context with random numbers came since, on i and on the element's
 * place, and are the same on every device. A new context has seed 0. Returns OK. */
CONVOY_API convoy_status convoy_seed(convoy_context *context, uint64_t seed);

/* The programs of these names, in one call: max(x, 0), x * sigmoid(x), sigmoid(x), a + b and a * b.
 * They return as convoy_apply does. */
CONVOY_API convoy_status convoy_relu(convoy_context *context, const convoy_tensor *x,
                                     convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_silu(convoy_context *context, const convoy_tensor *x,
                                     convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_sigmoid(convoy_context *context, const convoy_tensor *x,
                                        convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_add(convoy_context *context, const convoy_tensor *a,
                                    const convoy_tensor *b, convoy_tensor *y, convoy_run *run);
CONVOY_API convoy_status convoy_multiply(convoy_context *context, const convoy_tensor *a,
                                         const convoy_tensor *b, convoy_tensor *y, convoy_run *run);

/* -------------------------------------------------------------------------------- algorithms */

/* Returns the name of algorithm `index` of the context's device, from 0 on in the order of
 * preference, and NULL past the end. Names do not change between versions: "cpu.im2col",
 * "ocl.implicit_gemm". */
CONVOY_API const char *convoy_algorithm_name(convoy_context *context, int32_t index);

/* Lets the context run only the named algorithm from now on, as options.algorithm does; with NULL
 * or "" it chooses again. Returns OK, ERR_NOT_FOUND. */
CONVOY_API convoy_status convoy_set_algorithm(convoy_context *context, const char *name);

/* What would be run for a problem. */
typedef struct convoy_plan {
  uint32_t struct_size;
  int32_t accepted;        /* 1; 0 if the algorithm refuses the problem */
  int64_t workspace_bytes; /* scratch memory that it would use */
  char algorithm[32];
  char parameters[128];
  char reason[192];    /* of a refusal; "" if it accepts */
  double error_growth; /* 0: the error bound of all algorithms; else see Accuracy */
  int64_t error_reach; /* elements */
} convoy_plan;

/* Asks algorithm `name`, or with NULL the one that the context would choose, whether it accepts the
 * problem. Nothing is computed. Set out->struct_size first. Returns OK, also for a refusal;
 * ERR_ARGUMENT; ERR_SHAPE; ERR_NOT_FOUND. */
CONVOY_API convoy_status convoy_plan_problem(convoy_context *context, const char *name,
                                             const convoy_conv *conv, convoy_direction direction,
                                             const int64_t *x_shape, const int64_t *w_shape,
                                             convoy_plan *out);

/* Announces a problem (beta 0, no epilogue) that will be carried out soon, so that its programs
 * are compiled in the background. That is done by compile workers (CONVOY_COMPILE_WORKERS), once
 * something else had to be compiled; the problem announced last comes first. Nothing waits for it
 * and nothing needs it: when one direction of a layer runs, the others are announced anyway.
 * Returns OK, also where there is nothing to prepare; ERR_ARGUMENT; ERR_SHAPE. */
CONVOY_API convoy_status convoy_prepare(convoy_context *context, const convoy_conv *conv,
                                        convoy_direction direction, const int64_t *x_shape,
                                        const int64_t *w_shape);

/* -------------------------------------------------------------------------------- tuning */

/* The outcome of tuning a problem. */
typedef struct convoy_tuned {
  uint32_t struct_size;
  int32_t tried;       /* candidates (an algorithm with its parameters) that ran */
  int32_t failed;      /* of them gave wrong results or could not be run */
  int32_t kept;        /* 1: the choice is in the file; 0: nothing changed, see `reason` */
  double untuned_ms;   /* time of one operation without tuning; 0 if that failed */
  double milliseconds; /* time of one operation with the choice below */
  char algorithm[32];  /* which runs from now on */
  char parameters[128];
  char reason[192]; /* "" if it was kept */
} convoy_tuned;

/* Looks for the fastest algorithm and parameters for a problem (beta 0, no epilogue) for about
 * `seconds` (0: 2 s; never more than half of device_wait_budget), and writes the choice to the
 * tuning file, from which this context and later ones take it for this device with this driver.
 * Candidates run as any operation does, and count only if every element of their result is right.
 * Two that differ by less than 1 %, or by less than their own times vary, count as equally fast;
 * where the times vary too much to tell, nothing is written (docs/tuning.md). Set out->struct_size
 * first. The call blocks.
 * Returns OK; ERR_INTERRUPTED after convoy_interrupt(), with what was found until then in the
 * file; ERR_ARGUMENT; ERR_SHAPE; ERR_UNSUPPORTED if no algorithm accepts the problem, or if tuned
 * choices are not used for it because of faults; ERR_IO if the file cannot be written; ERR_DEVICE;
 * ERR_MEMORY. */
CONVOY_API convoy_status convoy_tune(convoy_context *context, const convoy_conv *conv,
                                     convoy_direction direction, const int64_t *x_shape,
                                     const int64_t *w_shape, double seconds, convoy_tuned *out);

/* ------------------------------------------------------------------------- health and events */

typedef struct convoy_health {
  uint32_t struct_size;
  uint32_t worker_pid;        /* process id; 0 without a worker */
  int64_t operations;         /* that were carried out */
  int64_t device_operations;  /* of them on the device that was asked for */
  int64_t faults;             /* of the device */
  int64_t failovers;          /* operations that were computed elsewhere after a fault */
  int64_t downgrades;         /* times that something ran slower or elsewhere than asked for */
  int64_t device_bytes;       /* device memory in use */
  int64_t device_bytes_peak;  /* the largest value of device_bytes */
  int64_t device_bytes_held;  /* device memory allocated, in use or kept for later */
  int64_t host_bytes;         /* host memory of tensors, transfers and workspaces */
  int64_t programs_compiled;  /* OpenCL programs that were compiled */
  int64_t programs_cached;    /* OpenCL programs that were taken from the cache on disk */
  int64_t workers_abandoned;  /* worker processes that could not be ended */
  int64_t deadlines_missed;   /* of the faults: the device made no progress */
  int64_t wrong_results;      /* of the faults: the result was wrong */
  int64_t verified;           /* results that were checked against the CPU, wholly or in part */
  int64_t verify_nanoseconds; /* time spent on that */
  int64_t history_bytes;      /* held only to compute tensors anew if the device is lost */
  int64_t retired_bytes;      /* memory that an abandoned worker could still write to; not used */
  int64_t cpu_stalls;         /* times that a thread of the CPU engine made no progress */
  int64_t fallback_seconds;   /* since the CPU engine took the device's place; 0: it has not */
} convoy_health;

/* Writes the context's counters since convoy_open. Set out->struct_size first. Returns OK,
 * ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_get_health(convoy_context *context, convoy_health *out);

/* Tells the context the number of the training step that begins. The in-use marker of the device,
 * fault reports and nan_watch name it (docs/failover.md). It costs one lock. Returns OK,
 * ERR_ARGUMENT. */
CONVOY_API convoy_status convoy_mark_step(convoy_context *context, int64_t step);

typedef enum convoy_event_kind {
  CONVOY_EVENT_DOWNGRADE = 0, /* something runs slower or elsewhere than asked for */
  CONVOY_EVENT_FAULT = 1,     /* a device failed */
  CONVOY_EVENT_FAILOVER = 2,  /* an operation, or all behind a graph's result, computed elsewhere */
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

/* Sets the function that is called for each event, NULL for none. It is called on a thread that is
 * in a public call of this context, with no lock held, and may call Convoy, but for convoy_close.
 * Returns OK, ERR_ARGUMENT. */
typedef void convoy_event_fn(void *user, const convoy_event *event);
CONVOY_API convoy_status convoy_set_event_callback(convoy_context *context, convoy_event_fn *fn,
                                                   void *user);

/* The fault table says which device, with which driver, failed at what, and what follows from it.
 * It is a file in CONVOY_STATE_DIR, shared by all processes of the user. After three faults of an
 * algorithm on one class of similar shapes, the device is used for that class one level lower: in
 * place of tuned choices only conservative algorithms with their default parameters, and after
 * three faults of these the CPU. A day without a new fault takes all that back. Open contexts see a
 * change at their next fault. With failover off the table is neither written nor obeyed.
 * It also has each time that the machine went down while a device was in use. After two of these
 * the device is not opened any more, and an algorithm that ran for the first time just then is not
 * used any more, until they are forgotten. A power failure looks the same.
 *
 * convoy_fault_table writes the entries of the devices in whose name `device` occurs (NULL: all),
 * one line each, with what follows from it, and "" if there are none; lines that do not fit into
 * `size` bytes, terminator included, are left out. convoy_fault_table_clear forgets these entries.
 * Both may be called from any thread and need no context. Return OK; ERR_ARGUMENT, also for an
 * environment variable as convoy_open does; ERR_IO if the file cannot be read or written, or is
 * locked for too long. */
CONVOY_API convoy_status convoy_fault_table(const char *device, char *text, size_t size);
CONVOY_API convoy_status convoy_fault_table_clear(const char *device);

/* ------------------------------------------------------------------------------- measurement */

/* Measures the peak rates of the context's device: fused multiply-adds from registers (GFLOP/s,
 * two operations each) and copying memory (GB/s, bytes read and written together). It takes about
 * a second and blocks. Either pointer may be NULL. Returns OK, ERR_DEVICE, ERR_MEMORY. */
CONVOY_API convoy_status convoy_measure_peak(convoy_context *context, double *gflops,
                                             double *gigabytes_per_second);

#ifdef __cplusplus
}
#endif

#include "convoy/framework.h"
#include "convoy/graph.h"
#include "convoy/nn.h"
#include "convoy/operations.h"
#include "convoy/state.h"

#endif
