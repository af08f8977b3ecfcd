/* cpu.fully_connected: convolutions that are products of images and filters, by cpu.matmul. */
#include "cpu/shared/epilogue.h"
#include "problem/conv/conv.h"
#include "problem/matmul/matmul.h"

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  (void)facts;
  if (cvy_conv_is_product(problem)) return true;
  cvy_text_add(reason,
               "the filter does not cover the input, dense and without padding, in one group");
  return false;
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
  cvy_problem product;
  cvy_conv_product(problem, &product);
  return cvy_cpu_matmul.algorithm.workspace(&product, facts, params);
}

static void run(const cvy_cpu_call *call) {
  cvy_problem product;
  cvy_conv_product(call->problem, &product);
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
