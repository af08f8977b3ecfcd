/* convoy.h as the first thing a strict C11 program includes; the initialisers must be constants. */
#include "convoy/convoy.h"

extern const convoy_options test_options;
extern const convoy_conv test_conv;
extern const convoy_epilogue test_epilogue;
extern const convoy_window test_window;
extern const convoy_run test_run;

const convoy_options test_options = CONVOY_OPTIONS_INIT;
const convoy_conv test_conv = CONVOY_CONV_INIT(CONVOY_MAX_RANK);
const convoy_epilogue test_epilogue = CONVOY_EPILOGUE_INIT;
const convoy_window test_window = CONVOY_WINDOW_INIT(2);
const convoy_run test_run = CONVOY_RUN_INIT;
