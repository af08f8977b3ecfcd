/* A network's step on all devices, in turns. */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "bench/measure.h"
#include "bench/result.h"
#include "bench/step.h"
#include "common/devices.h"

/* How long a training is whose days are asked for; 0: none. */
typedef struct training_length {
  int images, epochs;
} training_length;

/* Checks a step of each device against one of `cpu`, then takes samples of all that are right, one
 * device after the other and again, and writes a line for each. Returns whether the reference could
 * be had; what went wrong on a device is in its line. */
bool bench_turns(bench_net *net, device_list *devices, convoy_context *cpu, const timing *enough,
                 training_length length, bench_result lines[DEVICES_MOST]);

#endif
