/* Markers as files. */
#ifndef CVY_MARKERS_H
#define CVY_MARKERS_H

#include "core/marker.h"

/* ERR_NOT_FOUND if there is no file, ERR_IO with a sentence if it cannot be read; *good says whether it
 * is a marker. */
convoy_status cvy_marker_read(const char *path, cvy_marker *out, bool *good);

#endif
