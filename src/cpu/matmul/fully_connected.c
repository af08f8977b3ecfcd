/* cpu.fully_connected: convolutions whose filter is as large as what they see, so that each image
 * has one place. They are products of images and filters: y = x w^T and its gradients, by
 * cpu.matmul. */
#include "cpu/shared/epilogue.h"
#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"

static bool covers(const cvy_conv_problem *p) {
  for (int i = 0; i < 3; i++) {
    bool lies = p->filter[i] == p->in[i] && (p->filter[i] == 1 || p->dilation[i] == 1);
    if (!lies || p->out[i] != 1 || p->pad[i] != 0) return false;
  }
  return p->groups == 1;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  (void)facts;
  if (covers(&problem->conv)) return true;
  cvy_text_add(reason,
               "the filter does not cover the input, dense and without padding, in one group");
  return false;
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

static cvy_problem product_of(const cvy_problem *problem) {
  static void (*const describe[])(const cvy_problem *, cvy_matmul_problem *) = {
      [CVY_CONV_FORWARD] = describe_forward,
      [CVY_CONV_BACKWARD_DATA] = describe_backward_data,
      [CVY_CONV_BACKWARD_WEIGHTS] = describe_backward_weights};
  cvy_problem product;
  memset(&product, 0, sizeof product);
  product.operation = CVY_MATMUL;
  product.accumulate = problem->accumulate;
  product.matmul = (cvy_matmul_problem){.batch = problem->conv.n, .m = 1, .n = 1, .k = 1};
  describe[problem->operation](problem, &product.matmul);
  return product;
}

/* Of one image: each channel has so many results. */
static void finish(const cvy_cpu_call *call, float *image, int64_t channels, int64_t each) {
  for (int64_t c = 0; c < channels; c++) cvy_cpu_epilogue(call, image + c * each, c, each);
}

static void finish_images(void *arg, int64_t begin, int64_t end, int32_t slot) {
  const cvy_cpu_call *call = arg;
  const cvy_problem *problem = call->problem;
  cvy_conv_array out = cvy_conv_out(problem);
  int64_t channels = out == CVY_Y ? problem->conv.k : problem->conv.c;
  (void)slot;
  for (int64_t n = begin; n < end; n++)
    finish(call, call->out[0] + cvy_conv_place(problem, out, n, 0), channels,
           cvy_conv_image(problem, out) / channels);
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  cvy_problem product = product_of(problem);
  return cvy_cpu_matmul.algorithm.workspace(&product, facts, params);
}

static void run(const cvy_cpu_call *call) {
  cvy_problem product = product_of(call->problem);
  cvy_cpu_call of_product = *call;
  of_product.problem = &product;
  if (call->problem->operation == CVY_CONV_BACKWARD_WEIGHTS) {
    of_product.in[0] = call->in[1]; /* dy */
    of_product.in[1] = call->in[0];
  }
  cvy_cpu_matmul.run(&of_product);
  if (call->problem->conv.has_bias || call->problem->conv.activation != CONVOY_IDENTITY)
    cvy_parallel_items(call->threads, call->problem->conv.n, finish_images,
                       (void *)(uintptr_t)call);
}

const cvy_cpu_row cvy_cpu_fully_connected = {{.name = "cpu.fully_connected",
                                              .operations = CVY_CONV_FILTERED,
                                              .accepts = accepts,
                                              .workspace = workspace},
                                             run};
