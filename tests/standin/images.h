/* What the stand-ins' compilers hand out, and what the stood-in drivers load: a text that looks
 * like PTX from afar, with what the driver of OpenCL alone sets, and holds the source. */
#ifndef STANDIN_IMAGES_H
#define STANDIN_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

/* malloc'ed, with a 0 behind its *bytes. NULL: no memory. */
char *image_write(const char *options, const char *source, size_t *bytes);
/* Where options and source begin in an image; *options_length gets how long they are. `prepared`:
 * it must not read a register any more that CUDA does not set. NULL: it is none, or does. */
const char *image_read(const char *image, bool prepared, const char **options,
                       size_t *options_length);

#endif
