#include <convoy/convoy.h>
#include <stdio.h>

int main(void) {
  float x[2 * 8 * 8], w[4 * 2 * 3 * 3], y[4 * 4 * 4];
  int64_t x_shape[] = {1, 2, 8, 8}, w_shape[] = {4, 2, 3, 3}; /* N C H W and K C R S */
  for (int i = 0; i < 2 * 8 * 8; i++) x[i] = 1.0f;
  for (int i = 0; i < 4 * 2 * 3 * 3; i++) w[i] = 0.5f;

  convoy_conv conv = CONVOY_CONV_INIT(2); /* two spatial axes */
  conv.stride[0] = conv.stride[1] = 2;
  conv.pad_begin[0] = conv.pad_begin[1] = conv.pad_end[0] = conv.pad_end[1] = 1;

  convoy_context *context;
  convoy_run run = CONVOY_RUN_INIT;
  if (convoy_open(NULL, &context) || /* the GPU if there is one, else the CPU */
      convoy_forward_host(context, &conv, x_shape, x, w_shape, w, NULL, NULL, y, &run)) {
    fprintf(stderr, "%s\n", convoy_last_error());
    return 1;
  }
  printf("y[0][0][1][1] = %g, by %s on %s\n", y[5], run.algorithm, run.device);
  convoy_close(context);
  return 0;
}
