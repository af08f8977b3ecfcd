/* Whether a process was made by fork(), as the kernel remembers it until exec. */
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

#define FORKED_NO_EXEC 0x40u /* PF_FORKNOEXEC of the kernel's flags */
#define FIELDS_BEFORE 7      /* fields of /proc/PID/stat from the name's end to the flags */

bool cvy_process_is_forked(void) {
  char *text = cvy_file_read_system("/proc/self/stat");
  const char *at = text ? strrchr(text, ')') : NULL;
  for (int i = 0; at && i < FIELDS_BEFORE; i++) at = strchr(at + 1, ' ');
  bool forked = !at || (strtoul(at, NULL, 10) & FORKED_NO_EXEC);
  free(text);
  return forked;
}
