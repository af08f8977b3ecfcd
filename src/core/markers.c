/* Naming markers and finding them. */
#include "core/markers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

#define MOST_BYTES ((size_t)64 << 10) /* later versions may write more than CVY_MARKER_TEXT */

static const char pattern[] = "@@@@@@@@@@@@@@@@-+-+.txt";

convoy_status cvy_marker_path(const cvy_marker *marker, unsigned number, char *path, size_t size) {
  char file[100];
  uint64_t place = cvy_hash(0, marker->machine, strlen(marker->machine) + 1);
  place = cvy_hash(place, marker->boot, strlen(marker->boot) + 1);
  place = cvy_hash(place, &marker->born, sizeof(marker->born));
  snprintf(file, sizeof(file), "/%016" PRIx64 "-%d-%u.txt", place, marker->process, number);
  return cvy_state_path("/running", file, path, size);
}

convoy_status cvy_marker_read(const char *path, cvy_marker *out) {
  size_t count;
  char *text;
  convoy_status status = cvy_file_read(path, CVY_FILE_TEXT, MOST_BYTES, &text, &count);
  const bool good = !status && cvy_marker_parse(text, out);
  free(text);
  if (status || good) return status;
  return cvy_fail(CONVOY_ERR_IO, "%s is no marker that this version of Convoy knows", path);
}

/* Of a marker, or of one that is kept: then a boot's name and a dash come first. */
static bool is_marker(const char *name) {
  const size_t length = strlen(name);
  for (size_t start = 0; start < length; start++) {
    if (start && name[start - 1] != '-') continue;
    if (cvy_text_is(name + start, pattern)) return true;
  }
  return false;
}

typedef struct sweep {
  cvy_marker_fn *visit;
  void *user;
  int most, others; /* others: files that are no markers */
  char first[600];  /* what is wrong with the first of them */
} sweep;

/* One that is not there any more has been judged by another process just now. */
static void look(void *user, const char *path, int index, int count) {
  sweep *all = user;
  cvy_marker marker;
  if (index >= all->most) return;
  if (index + 1 == all->most && count > all->most) {
    cvy_log(CONVOY_LOG_WARNING, "%d of the %d markers beside %s are looked at", all->most, count,
            path);
  }
  convoy_status status = cvy_marker_read(path, &marker);
  if (!status) all->visit(all->user, path, &marker);
  if (!status || status == CONVOY_ERR_NOT_FOUND) return;
  if (all->others++ == 0) cvy_text_copy(all->first, sizeof(all->first), cvy_last_error());
}

void cvy_markers_visit(const char *part, int most, cvy_marker_fn *visit, void *user) {
  char folder[4000];
  sweep all = {.visit = visit, .user = user, .most = most};
  if (cvy_state_path(part, "", folder, sizeof(folder))) return; /* told where the own is not kept */
  if (cvy_folder_visit(folder, is_marker, look, &all)) {
    cvy_log(CONVOY_LOG_WARNING, "the black box is not read: %s", cvy_last_error());
  }
  if (all.others == 0) return;
  cvy_log(CONVOY_LOG_WARNING, "the black box leaves alone what is not its own: %s%s", all.first,
          all.others > 1 ? ", and others there" : "");
}
