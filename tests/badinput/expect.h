/* A refusal has the right status and a sentence that mentions what it should. */
#ifndef TEST_EXPECT_H
#define TEST_EXPECT_H

#include <string.h>

#include "common/cmocka.h"
#include "convoy/convoy.h"

static inline void expect_refusal(const char *what, convoy_status got, convoy_status wanted,
                                  const char *mentions) {
  if (got != wanted)
    fail_msg("%s: %s instead of %s (%s)", what, convoy_status_name(got), convoy_status_name(wanted),
             convoy_last_error());
  if (strstr(convoy_last_error(), mentions) == NULL)
    fail_msg("%s: the sentence '%s' lacks '%s'", what, convoy_last_error(), mentions);
}

static inline convoy_context *open_cpu(void) {
  convoy_options options = CONVOY_OPTIONS_INIT;
  convoy_context *context = NULL;
  options.device = "cpu";
  options.failover = CONVOY_NO;
  if (convoy_open(&options, &context) != CONVOY_OK) fail_msg("%s", convoy_last_error());
  return context;
}

#endif
