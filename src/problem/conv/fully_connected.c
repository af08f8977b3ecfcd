/* Convolutions whose filter is as large as what they see, so that each image has one place. They
 * are products of images and filters, y = x w^T, whose gradients are products, too. */
#include <string.h>

#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"

bool cvy_conv_is_product(const cvy_problem *problem) {
  const cvy_conv_problem *p = &problem->conv;
  for (int i = 0; i < 3; i++) {
    bool lies = p->filter[i] == p->in[i] && (p->filter[i] == 1 || p->dilation[i] == 1);
    if (!lies || p->out[i] != 1 || p->pad[i] != 0) return false;
  }
  return p->groups == 1;
}

/* The array w lies as [k][c t r s], so images are rows, or where they are summed up terms. */
static void describe_forward(const cvy_problem *problem, cvy_matmul_problem *out) {
  out->n = problem->conv.k;
  out->k = cvy_conv_image(problem, CVY_X);
  out->b_shared = out->b_transposed = 1;
  out->a = cvy_conv_view(problem, CVY_X);
  out->y = cvy_conv_view(problem, CVY_Y);
}

static void describe_backward_data(const cvy_problem *problem, cvy_matmul_problem *out) {
  out->n = cvy_conv_image(problem, CVY_X);
  out->k = problem->conv.k;
  out->b_shared = 1;
  out->a = cvy_conv_view(problem, CVY_Y);
  out->y = cvy_conv_view(problem, CVY_X);
}

static void describe_backward_weights(const cvy_problem *problem, cvy_matmul_problem *out) {
  out->m = problem->conv.k;
  out->n = cvy_conv_image(problem, CVY_X);
  out->summed = 1;
  out->a = cvy_conv_view(problem, CVY_Y);
  out->b = cvy_conv_view(problem, CVY_X);
}

void cvy_conv_product(const cvy_problem *problem, cvy_problem *out) {
  static void (*const describe[])(const cvy_problem *, cvy_matmul_problem *) = {
      [CVY_CONV_FORWARD] = describe_forward,
      [CVY_CONV_BACKWARD_DATA] = describe_backward_data,
      [CVY_CONV_BACKWARD_WEIGHTS] = describe_backward_weights};
  memset(out, 0, sizeof *out);
  out->operation = CVY_MATMUL;
  out->accumulate = problem->accumulate;
  out->matmul = (cvy_matmul_problem){.batch = problem->conv.n, .m = 1, .n = 1, .k = 1};
  describe[problem->operation](problem, &out->matmul);
}
