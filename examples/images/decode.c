#include "images/decode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_PNG
#include <png.h>
#endif
#ifdef HAVE_JPEG
#include <jpeglib.h> /* behind stdio.h, which it needs */
#endif

enum { LARGEST_SIDE = 1 << 15, LARGEST_AREA = 1 << 28 };

static bool fail(const char *path, const char *why) {
  fprintf(stderr, "%s: %s\n", path, why);
  return false;
}

/* Room for all pixels of a size that a file may claim. */
static bool make_room(const char *path, int64_t width, int64_t height, struct picture *out) {
  if (width < 1 || height < 1 || width > LARGEST_SIDE || height > LARGEST_SIDE ||
      width * height > LARGEST_AREA)
    return fail(path, "it is empty, or larger than is read here");
  *out = (struct picture){(int)width, (int)height, malloc((size_t)(3 * width * height))};
  return out->pixels || fail(path, "there is no memory for it");
}

/* ----------------------------------------------------------------------------------------- PNG */

#ifdef HAVE_PNG
/* What is transparent becomes black. Warnings are about what does not concern pixels. */
static bool decode_png(FILE *file, const char *path, struct picture *out) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  const png_color black = {0, 0, 0};
  if (!png_image_begin_read_from_stdio(&image, file)) return fail(path, image.message);
  image.format = PNG_FORMAT_RGB;
  if (!make_room(path, image.width, image.height, out)) {
    png_image_free(&image);
    return false;
  }
  if (png_image_finish_read(&image, &black, out->pixels, 0, NULL)) return true;
  free(out->pixels);
  return fail(path, image.message);
}
#else
static bool decode_png(FILE *file, const char *path, struct picture *out) {
  (void)file;
  (void)out;
  return fail(path, "libpng was not there when this program was built");
}
#endif

/* ---------------------------------------------------------------------------------------- JPEG */

#ifdef HAVE_JPEG
/* libjpeg leaves by a jump, and calls what it would go on with a warning: here that is a failure
 * too, for of a file that is cut off it makes grey. */
struct jpeg_failure {
  struct jpeg_error_mgr manager; /* the first, so that libjpeg's pointer is ours */
  jmp_buf back;
  char why[JMSG_LENGTH_MAX];
};

static void leave(j_common_ptr info) {
  struct jpeg_failure *failure = (struct jpeg_failure *)info->err;
  info->err->format_message(info, failure->why);
  longjmp(failure->back, 1);
}

static void warn(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

static void read_rows(struct jpeg_decompress_struct *info, struct picture *out) {
  while (info->output_scanline < info->output_height) {
    JSAMPROW row = out->pixels + (size_t)info->output_scanline * (size_t)out->width * 3;
    jpeg_read_scanlines(info, &row, 1);
  }
  jpeg_finish_decompress(info);
}

static bool decode_jpeg(FILE *file, const char *path, struct picture *out) {
  struct jpeg_decompress_struct info;
  struct jpeg_failure failure;
  memset(&info, 0, sizeof info);
  info.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = leave;
  failure.manager.emit_message = warn;
  out->pixels = NULL;
  if (setjmp(failure.back)) {
    jpeg_destroy_decompress(&info);
    free(out->pixels);
    return fail(path, failure.why);
  }
  jpeg_create_decompress(&info);
  jpeg_stdio_src(&info, file);
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  bool room = make_room(path, info.output_width, info.output_height, out);
  if (room) read_rows(&info, out);
  jpeg_destroy_decompress(&info);
  return room;
}
#else
static bool decode_jpeg(FILE *file, const char *path, struct picture *out) {
  (void)file;
  (void)out;
  return fail(path, "libjpeg was not there when this program was built");
}
#endif

/* ------------------------------------------------------------------------------------- formats */

static const struct format {
  const char *first; /* bytes of the file */
  bool (*decode)(FILE *file, const char *path, struct picture *out);
} formats[] = {{"\x89PNG\r\n\x1a\n", decode_png}, {"\xff\xd8\xff", decode_jpeg}};

static const struct format *format_of(FILE *file) {
  char first[8] = "";
  size_t count = fread(first, 1, sizeof first, file);
  rewind(file);
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    size_t length = strlen(formats[i].first);
    if (count >= length && !memcmp(first, formats[i].first, length)) return &formats[i];
  }
  return NULL;
}

bool decode_knows(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  bool known = format_of(file) != NULL;
  fclose(file);
  return known;
}

bool decode_file(const char *path, struct picture *out) {
  FILE *file = fopen(path, "rb");
  if (!file) return fail(path, "it cannot be opened");
  const struct format *format = format_of(file);
  bool good = format ? format->decode(file, path, out) : fail(path, "it is neither PNG nor JPEG");
  fclose(file);
  return good;
}
