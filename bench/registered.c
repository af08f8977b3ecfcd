/* What the bus gives: copies between a device and host memory, ordinary and registered. `convoy overhead` shows
 * what of it Convoy's calls reach. Usage: registered [PART OF A DEVICE'S NAME] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"

enum { BYTES = 256 << 20, ROUNDS = 9 };

/* As the worker has them: pages of an anonymous file, touched. */
static char *shared_pages(void) {
  const int fd = memfd_create("registered", 0);
  if (fd < 0 || ftruncate(fd, BYTES) != 0) return NULL;
  void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return NULL;
  return memset(memory, 1, BYTES);
}

static int ascending(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* Median rate of blocking copies in one direction. */
static double rate(cl_command_queue queue, cl_mem device, char *host, int in) {
  double seconds[ROUNDS];
  for (int i = -1; i < ROUNDS; i++) {
    const double start = now();
    const cl_int code =
        in ? clEnqueueWriteBuffer(queue, device, CL_TRUE, 0, BYTES, host, 0, NULL, NULL)
           : clEnqueueReadBuffer(queue, device, CL_TRUE, 0, BYTES, host, 0, NULL, NULL);
    if (code != CL_SUCCESS) return 0;
    if (i >= 0) seconds[i] = now() - start;
  }
  qsort(seconds, ROUNDS, sizeof *seconds, ascending);
  return 1e-9 * BYTES / seconds[ROUNDS / 2];
}

static void report(const char *what, cl_command_queue queue, cl_mem device, char *host) {
  const double in = rate(queue, device, host, 1), out = rate(queue, device, host, 0);
  printf("%-11s in %.2f GB/s, out %.2f GB/s\n", what, in, out);
}

static int measure(cl_device_id id) {
  cl_int code;
  cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
  cl_command_queue queue = context ? clCreateCommandQueue(context, id, 0, &code) : NULL;
  cl_mem device = queue ? clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code) : NULL;
  char *ordinary = malloc(BYTES), *shared = shared_pages();
  if (!device || !ordinary || !shared) return EXIT_FAILURE;
  memset(ordinary, 1, BYTES);
  report("ordinary", queue, device, ordinary);
  report("shared", queue, device, shared);
  cl_mem block =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, shared, &code);
  void *mapped = block ? clEnqueueMapBuffer(queue, block, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                            BYTES, 0, NULL, NULL, &code)
                       : NULL;
  if (!mapped) return EXIT_FAILURE;
  report("registered", queue, device, mapped);
  return EXIT_SUCCESS; /* the driver cleans up at exit */
}

int main(int argc, char **argv) {
  char name[256];
  cl_device_id device = find_device(argc > 1 ? argv[1] : "", name, sizeof name);
  if (!device) {
    fprintf(stderr, "there is no such OpenCL device\n");
    return EXIT_FAILURE;
  }
  printf("%s\n", name);
  return measure(device);
}
