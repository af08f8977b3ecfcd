// convoy.h as the first thing a strict C++11 program includes.
#include "convoy/convoy.h"

extern const convoy_options test_options = CONVOY_OPTIONS_INIT;
extern const convoy_conv test_conv = CONVOY_CONV_INIT(CONVOY_MAX_RANK);
extern const convoy_epilogue test_epilogue = CONVOY_EPILOGUE_INIT;
extern const convoy_window test_window = CONVOY_WINDOW_INIT(2);
extern const convoy_run test_run = CONVOY_RUN_INIT;

// Arrays of pointers convert in C++ only as far as const allows it.
convoy_status test_apply(convoy_context *context, const convoy_program *program, convoy_tensor *x,
                         convoy_tensor *y);

convoy_status test_apply(convoy_context *context, const convoy_program *program, convoy_tensor *x,
                         convoy_tensor *y) {
  const convoy_tensor *const inputs[] = {x, y};
  convoy_tensor *mutable_inputs[] = {x, y}, *outputs[] = {y};
  convoy_status status = convoy_apply(context, program, inputs, outputs, nullptr);
  return status ? status : convoy_apply(context, program, mutable_inputs, outputs, nullptr);
}
