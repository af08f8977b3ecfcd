/* make_jpeg WIDTH HEIGHT: raw pixels, red green blue, from stdin become a JPEG file on stdout. */
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h> /* behind stdio.h, which it needs */

int main(int count, char **arguments) {
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr manager;
  if (count != 3) return 2;
  info.err = jpeg_std_error(&manager);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, stdout);
  info.image_width = (JDIMENSION)strtoul(arguments[1], NULL, 10);
  info.image_height = (JDIMENSION)strtoul(arguments[2], NULL, 10);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_start_compress(&info, TRUE);
  JSAMPROW row = malloc(3 * (size_t)info.image_width);
  while (row && info.next_scanline < info.image_height) {
    if (fread(row, 3, info.image_width, stdin) != info.image_width) return 1;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  free(row);
  return 0;
}
