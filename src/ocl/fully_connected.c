/* ocl.fully_connected: backward_data of filters that cover their images, by ocl.matmul. As a
 * convolution each of its results goes through all taps, of which only one meets y: with images of
 * 7 x 7 that is 49 times the arithmetic. The other directions have no such taps. */
#include "ocl/fully_connected.h"

#include "ocl/matmul.h"
#include "problem/conv/conv.h"

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  bool plain = !problem->conv.has_bias && problem->conv.activation == CONVOY_IDENTITY;
  if (!cvy_conv_is_product(problem) || cvy_filter_volume(problem) == 1 || !plain) {
    cvy_text_add(reason,
                 "the filter does not cover the input, dense and without padding, in one group, "
                 "with several taps and without bias and activation");
    return false;
  }
  cvy_problem product;
  cvy_conv_product(problem, &product);
  return cvy_ocl_matmul.accepts(&product, facts, reason);
}

void cvy_ocl_fully_connected_product(const cvy_problem *problem, const cvy_facts *facts,
                                     cvy_problem *product, cvy_params *params) {
  cvy_conv_product(problem, product);
  cvy_ocl_matmul.defaults(product, facts, params);
}

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *unused) {
  cvy_problem product;
  cvy_params params;
  (void)unused;
  cvy_ocl_fully_connected_product(problem, facts, &product, &params);
  return cvy_ocl_matmul.workspace(&product, facts, &params);
}

const cvy_algorithm cvy_ocl_fully_connected = {
    .name = "ocl.fully_connected",
    .operations = CVY_OPERATION_BIT(CVY_CONV_BACKWARD_DATA),
    .accepts = accepts,
    .workspace = workspace,
};
