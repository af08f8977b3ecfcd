/* Reading markers. */
#include "core/markers.h"

#include <stdlib.h>

#include "os/os.h"

#define MOST_BYTES ((size_t)64 << 10) /* later versions may write more than CVY_MARKER_TEXT */

convoy_status cvy_marker_read(const char *path, cvy_marker *out, bool *good) {
  size_t count;
  char *text;
  convoy_status status = cvy_file_read(path, MOST_BYTES, &text, &count);
  *good = !status && cvy_marker_parse(text, out);
  free(text);
  return status;
}
