// convoy.h as the first thing a strict C++11 program includes.
#include "convoy/convoy.h"

extern const convoy_options test_options = CONVOY_OPTIONS_INIT;
extern const convoy_conv test_conv = CONVOY_CONV_INIT(CONVOY_MAX_RANK);
extern const convoy_epilogue test_epilogue = CONVOY_EPILOGUE_INIT;
extern const convoy_run test_run = CONVOY_RUN_INIT;
