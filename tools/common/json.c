/* Writes JSON. */
#include "common/json.h"

#include <inttypes.h>
#include <math.h>

/* How many bytes the character of UTF-8 has that begins here; 0: there is none. */
static size_t character(const unsigned char *at) {
  static const struct {
    unsigned char mask, lead;
    uint32_t least; /* what fewer bytes have no room for */
  } lengths[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
  const size_t most = sizeof lengths / sizeof lengths[0];
  size_t follow = 0;
  while (follow < most && (at[0] & lengths[follow].mask) != lengths[follow].lead) follow++;
  if (follow == most) return 0;
  uint32_t code = at[0] & ~lengths[follow].mask & 0xff;
  for (size_t i = 1; i <= follow; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (at[i] & 0x3f);
  }
  const bool half = code >= 0xd800 && code < 0xe000; /* of a pair, which only UTF-16 has */
  return code >= lengths[follow].least && code < 0x110000 && !half ? follow + 1 : 0;
}

/* JSON is UTF-8. A text of the machine's, such as an environment variable, is any bytes: for those
 * that are no character stands the one that says so. */
static void write_text(FILE *to, const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  fputc('"', to);
  while (*at) {
    const size_t length = character(at);
    if (*at == '"' || *at == '\\')
      fprintf(to, "\\%c", *at);
    else if (*at < 0x20)
      fprintf(to, "\\u%04x", *at);
    else if (length)
      fwrite(at, 1, length, to);
    else
      fputs("\xef\xbf\xbd", to);
    at += length ? length : 1;
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
