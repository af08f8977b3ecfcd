/* Whether a driver compiles in parallel: the same number of programs one after the other, by threads of one
 * process in one context, and by processes. The programs are Convoy's matrix product, made distinct. Empty or
 * disable the driver's own cache first: CUDA_CACHE_DISABLE=1, POCL_KERNEL_CACHE=0.
 * Usage: compilers [PART OF A DEVICE'S NAME] */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cl/sources.h"
#include "device.h"

enum { PROGRAMS = 8 };

typedef struct job {
  cl_device_id device;
  cl_context context;
  int number; /* makes the program another one */
} job;

static void *build(void *argument) {
  const job *of = argument;
  const char *parts[] = {cvy_cl_conv_args, cvy_cl_common, cvy_cl_epilogue,
                         cvy_cl_space,     cvy_cl_tile,   cvy_cl_implicit_gemm};
  char options[256];
  snprintf(
      options, sizeof options,
      "-D WIDE=0 -D BM=64 -D BN=64 -D BK=8 -D TM=8 -D TN=4 -D SPACE=1 -D DIRECTION=0 -D WHOLE=0 "
      "-D NUMBER=%d",
      of->number);
  cl_int code;
  cl_program program =
      clCreateProgramWithSource(of->context, sizeof parts / sizeof *parts, parts, NULL, &code);
  code = clBuildProgram(program, 1, &of->device, options, NULL, NULL);
  if (code != CL_SUCCESS) fprintf(stderr, "compilers: the program does not compile (%d)\n", code);
  clReleaseProgram(program);
  return NULL;
}

static double in_one_process(const char *part, int first, int threads) {
  job jobs[PROGRAMS];
  pthread_t thread[PROGRAMS];
  char name[256] = "";
  cl_device_id device = find_device(part, name, sizeof name);
  cl_context context = device ? clCreateContext(NULL, 1, &device, NULL, NULL, NULL) : NULL;
  if (!context) return -1;
  const double start = now();
  for (int i = 0; i < PROGRAMS; i++) {
    jobs[i] = (job){device, context, first + i};
    if (!threads || pthread_create(&thread[i], NULL, build, &jobs[i])) build(&jobs[i]);
  }
  for (int i = 0; threads && i < PROGRAMS; i++) pthread_join(thread[i], NULL);
  const double seconds = now() - start;
  clReleaseContext(context);
  return seconds;
}

/* The driver is opened in the children alone, which is part of the time: it does not survive fork(). */
static double in_processes(const char *part, int first, int processes, int threads) {
  const double start = now();
  for (int i = 0; i < processes; i++) {
    if (fork() != 0) continue;
    if (processes == 1) {
      printf("%s: %.2f s\n", threads ? "by threads of one process" : "one after the other",
             in_one_process(part, first, threads));
      fflush(stdout);
    } else {
      char name[256] = "";
      cl_device_id device = find_device(part, name, sizeof name);
      job one = {device, clCreateContext(NULL, 1, &device, NULL, NULL, NULL), first + i};
      build(&one);
    }
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  return now() - start;
}

int main(int argc, char **argv) {
  const char *part = argc > 1 ? argv[1] : "";
  printf("%d programs\n", PROGRAMS);
  fflush(stdout);
  in_processes(part, 0, 1, 0);
  in_processes(part, 100, 1, 1);
  printf("by processes, their start and the driver's included: %.2f s\n",
         in_processes(part, 200, PROGRAMS, 0));
  return 0;
}
