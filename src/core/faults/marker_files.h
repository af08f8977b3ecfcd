/* Markers as files of the state folder: those of devices in use in "/running", those of times the
 * machine went down in "/downs". */
#ifndef CVY_MARKER_FILES_H
#define CVY_MARKER_FILES_H

#include "core/faults/in_use_marker.h"

/* The path of the `number`th marker of its process; ERR_IO with a sentence if there is no folder
 * for it or it does not fit. Another process has another name, also on another machine or in
 * another container with the same folder. */
convoy_status cvy_marker_path(const cvy_marker *marker, unsigned number, char *path, size_t size);

/* ERR_NOT_FOUND, without a sentence, if there is none; ERR_IO if it cannot be read or is none. */
convoy_status cvy_marker_read(const char *path, cvy_marker *out);

/* Calls `visit` for the markers in a folder ("/running"), `most` of them at most, in order of their
 * names. Files with names of another pattern are left alone; one line of log says what is
 * wrong with the first of those that are no markers in spite of their names, and how many there
 * are. They stay. */
typedef void cvy_marker_fn(void *user, const char *path, const cvy_marker *marker);
void cvy_markers_visit(const char *part, int most, cvy_marker_fn *visit, void *user);

#endif
