/* The registers that are the environment's, in PTX. */
#include "ocl/engine/cuda/ptx.h"

#include <string.h>

static const char register_name[] = "%envreg";
enum { LAST_OFFSET = '5' };

/* It begins with comments, and then says its version. */
static bool is_ptx(const char *text) {
  while (strncmp(text, "//", 2) == 0 || *text == '\n' || *text == '\r') {
    text += strcspn(text, "\n");
    text += *text == '\n';
  }
  return strncmp(text, ".version", 8) == 0;
}

convoy_status cuda_ptx_prepare(char *text) {
  if (!is_ptx(text)) return CONVOY_OK;
  for (char *at = text; (at = strstr(at, register_name));) {
    char *end;
    const char *digits = at + sizeof register_name - 1;
    end = at + (digits - at) + strspn(digits, "0123456789");
    if (end != digits + 1 || *digits > LAST_OFFSET) {
      return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                      "a program reads %.*s, which only OpenCL's driver sets", (int)(end - at), at);
    }
    memset(at, ' ', (size_t)(end - at));
    *at = '0';
    at = end;
  }
  return CONVOY_OK;
}
