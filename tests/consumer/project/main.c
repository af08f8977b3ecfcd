/* A program of someone else's: one convolution on the CPU, and the name of the device that `auto`
 * picks here. */
#include <convoy/convoy.h>
#include <stdio.h>

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, convoy_last_error());
  return 1;
}

static int convolve(void) {
  const convoy_conv conv = CONVOY_CONV_INIT(1);
  const int64_t x_shape[] = {1, 1, 4}, w_shape[] = {1, 1, 2};
  const float x[] = {1, 2, 3, 4}, w[] = {10, 1};
  float y[3] = {0, 0, 0};
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "cpu";
  if (convoy_open(&options, &context)) return fail("open");
  if (convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, NULL))
    return fail("forward");
  convoy_close(context);
  printf("y = %g %g %g\n", y[0], y[1], y[2]);
  return !(y[0] == 12 && y[1] == 23 && y[2] == 34);
}

static int show_auto(void) {
  convoy_context *context = NULL;
  convoy_device_info info = {.struct_size = sizeof info};
  if (convoy_open(NULL, &context)) return fail("open auto");
  if (convoy_context_device(context, &info)) return fail("device");
  printf("Convoy %s: auto is %s, %s\n", convoy_version(), info.id, info.name);
  convoy_close(context);
  return 0;
}

int main(void) {
  return convolve() || show_auto();
}
