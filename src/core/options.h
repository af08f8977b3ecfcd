/* A context's options, resolved from the public struct and the environment. */
#ifndef CVY_OPTIONS_H
#define CVY_OPTIONS_H

#include "backend.h"

typedef struct cvy_options {
  char device[128];
  char algorithm[32]; /* "": choose */
  bool failover;
  bool tune;
  bool nan_watch;
  bool winograd;
  bool require_device;
  convoy_verify verify;
  int64_t history_limit;   /* bytes */
  double wait_budget;      /* seconds */
  uint32_t graph_passes;   /* graph/passes.h */
  int32_t compile_workers; /* -1: as many as suit device and machine */
  cvy_open_options open;   /* what backends are told */
} cvy_options;

/* Field, else environment, else default. `given` may be NULL. ERR_ARGUMENT names the bad one. */
convoy_status cvy_options_resolve(const convoy_options *given, cvy_options *out);

#endif
