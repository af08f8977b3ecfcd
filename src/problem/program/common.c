/* Programs that the library itself applies again and again, parsed once in a process. */
#include <pthread.h>

#include "problem/program/bind.h"

static const char *const names[CVY_COMMON_PROGRAMS] = {
    [CVY_COMMON_RELU] = "relu",         [CVY_COMMON_SILU] = "silu",
    [CVY_COMMON_SIGMOID] = "sigmoid",   [CVY_COMMON_ADD] = "add",
    [CVY_COMMON_MULTIPLY] = "multiply",
};
static convoy_program programs[CVY_COMMON_PROGRAMS];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void) {
  for (int i = 0; i < CVY_COMMON_PROGRAMS; i++) {
    const char *text = cvy_program_text_of(names[i]);
    cvy_reduction_parse(text, &programs[i].program, &programs[i].how, &programs[i].names);
  }
}

const convoy_program *cvy_program_common(cvy_common_program which) {
  pthread_once(&made, make);
  return &programs[which];
}
