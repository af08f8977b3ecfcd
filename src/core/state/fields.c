/* Writing lines of fields, finding them in a text, and cutting them. */
#include "core/state/fields.h"

#include <string.h>

static const char separator[] = " | ";

void cvy_field_copy(char *to, size_t size, const char *from) {
  cvy_text_copy(to, size, *from ? from : "-");
  for (char *at = to; *at; at++) {
    if (*at == '|' || (unsigned char)*at < ' ') *at = '/';
  }
}

bool cvy_field_take(char *to, size_t size, const char *field) {
  cvy_field_copy(to, size, field);
  return strcmp(field, to) == 0;
}

bool cvy_fields_cut(char *line, char *fields[], int count) {
  for (int i = 0; i < count; i++) {
    fields[i] = line;
    char *end = strstr(line, separator);
    if (i == count - 1) return !end;
    if (!end) return false;
    *end = '\0';
    line = end + strlen(separator);
  }
  return false;
}

bool cvy_lines_begin(const char *text, const char *version_line, const char **at) {
  size_t length = strlen(version_line);
  bool known = strncmp(text, version_line, length) == 0;
  *at = known ? text + length : "";
  return known;
}

bool cvy_lines_next(const char **at, char *line, size_t size) {
  *at += strspn(*at, "\n");
  size_t length = strcspn(*at, "\n"), copied = length < size ? length : 0;
  memcpy(line, *at, copied);
  line[copied] = '\0';
  *at += length;
  return length > 0;
}
