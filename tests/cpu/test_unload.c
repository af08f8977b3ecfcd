/* The library is loaded by a program that knows nothing of OpenMP, used, and unloaded while
 * OpenMP's threads still wait for work. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convoy/convoy.h"

#define ROUNDS 3
#define EXTENT 64

#if defined(__SANITIZE_ADDRESS__)
/* What the library keeps for reuse until the process ends is out of sight once it is unloaded. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return 1;
}
#endif

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, dlerror());
  return 1;
}

static float x[8 * EXTENT * EXTENT], w[8 * 8 * 9], y[8 * EXTENT * EXTENT];

typedef convoy_status open_fn(const convoy_options *, convoy_context **);
typedef convoy_status forward_fn(convoy_context *, const convoy_conv *, const int64_t *,
                                 const float *, const int64_t *, const float *, const float *,
                                 const convoy_epilogue *, float *, convoy_run *);
typedef void close_fn(convoy_context *);

static int convolve(void *library) {
  const int64_t x_shape[] = {1, 8, EXTENT, EXTENT}, w_shape[] = {8, 8, 3, 3};
  open_fn *open_context = (open_fn *)dlsym(library, "convoy_open");
  forward_fn *forward = (forward_fn *)dlsym(library, "convoy_forward_host");
  close_fn *close_context = (close_fn *)dlsym(library, "convoy_close");
  convoy_conv conv = CONVOY_CONV_INIT(2);
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  if (!open_context || !forward || !close_context) return fail("dlsym");
  for (int i = 0; i < 2; i++) conv.pad_begin[i] = conv.pad_end[i] = 1;
  options.device = "cpu";
  options.threads = 4;
  if (open_context(&options, &context)) return 1;
  for (int i = 0; i < 10; i++) {
    if (forward(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL)) return 1;
  }
  close_context(context);
  return y[EXTENT + 1] != 72;
}

static int is_mapped(const char *name) {
  char line[1024];
  int found = 0;
  FILE *file = fopen("/proc/self/maps", "re");
  while (file && !found && fgets(line, sizeof line, file)) found = strstr(line, name) != NULL;
  if (file) fclose(file);
  return found;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  alarm(60);
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = 1;
  for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = 1;
  for (int i = 0; i < ROUNDS; i++) {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return fail(argv[1]);
    if (convolve(library)) return fprintf(stderr, "round %d: wrong\n", i), 1;
    if (dlclose(library)) return fail("dlclose");
    if (is_mapped("libconvoy")) return fprintf(stderr, "it was not unloaded\n"), 1;
    usleep(50000); /* the threads that wait go on in what is still there */
  }
  return 0;
}
