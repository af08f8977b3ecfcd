/* Writes JSON. */
#include "common/json.h"

#include <inttypes.h>
#include <math.h>

static void write_text(FILE *to, const char *text) {
  fputc('"', to);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(to, "\\%c", c);
    else if (c < 0x20)
      fprintf(to, "\\u%04x", c);
    else
      fputc(c, to);
  }
  fputc('"', to);
}

static void begin(json *out, const char *key) {
  if (out->comma) fputs(", ", out->to);
  out->comma = true;
  if (!key) return;
  write_text(out->to, key);
  fputs(": ", out->to);
}

void json_open(json *out, const char *key, char bracket) {
  begin(out, key);
  fputc(bracket, out->to);
  out->comma = false;
}

void json_close(json *out, char bracket) {
  fputc(bracket, out->to);
  out->comma = true;
}

void json_text(json *out, const char *key, const char *value) {
  begin(out, key);
  write_text(out->to, value);
}

void json_number(json *out, const char *key, double value) {
  begin(out, key);
  if (isfinite(value))
    fprintf(out->to, "%.9g", value);
  else
    fputs("null", out->to);
}

void json_integer(json *out, const char *key, int64_t value) {
  begin(out, key);
  fprintf(out->to, "%" PRId64, value);
}

/* The line is flushed, so that an interrupted run keeps what it measured. */
void json_end_line(json *out) {
  fputc('\n', out->to);
  fflush(out->to);
  out->comma = false;
}
