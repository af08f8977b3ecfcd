/* Status names, and the calling thread's last sentence. */
#include <stdio.h>

#include "base/base.h"

static const char *const names[] = {
    [CONVOY_OK] = "CONVOY_OK",
    [CONVOY_ERR_ARGUMENT] = "CONVOY_ERR_ARGUMENT",
    [CONVOY_ERR_SHAPE] = "CONVOY_ERR_SHAPE",
    [CONVOY_ERR_MEMORY] = "CONVOY_ERR_MEMORY",
    [CONVOY_ERR_DEVICE] = "CONVOY_ERR_DEVICE",
    [CONVOY_ERR_UNSUPPORTED] = "CONVOY_ERR_UNSUPPORTED",
    [CONVOY_ERR_IO] = "CONVOY_ERR_IO",
    [CONVOY_ERR_NOT_FOUND] = "CONVOY_ERR_NOT_FOUND",
    [CONVOY_ERR_INTERRUPTED] = "CONVOY_ERR_INTERRUPTED",
    [CONVOY_ERR_DEADLINE] = "CONVOY_ERR_DEADLINE",
    [CONVOY_ERR_WRONG] = "CONVOY_ERR_WRONG",
};

static _Thread_local char sentence[512];

const char *cvy_status_name(convoy_status status) {
  return (size_t)status < CVY_COUNT(names) ? names[status] : "unknown status";
}

convoy_status cvy_fail(convoy_status status, const char *format, ...) {
  /* A new sentence may quote the old one, so it is composed aside. */
  char text[sizeof sentence];
  va_list args;
  va_start(args, format);
  cvy_print(text, sizeof text, format, args);
  va_end(args);
  cvy_text_copy(sentence, sizeof sentence, text);
  return status;
}

const char *cvy_last_error(void) {
  return sentence;
}
