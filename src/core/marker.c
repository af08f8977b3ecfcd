/* Markers as text: a version line, then one "key: value" per line. Unknown keys are skipped. */
#include "core/marker.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

static const char version_line[] = "convoy-running 1\n";

/* The fields that are text, with their places. */
#define CVY_FIELD(name) offsetof(cvy_marker, name), sizeof(((cvy_marker *)NULL)->name)
static const struct {
  const char *key;
  size_t offset, size;
} texts[] = {
    {"machine", CVY_FIELD(machine)},     {"boot", CVY_FIELD(boot)},
    {"namespace", CVY_FIELD(space)},     {"device", CVY_FIELD(device)},
    {"driver", CVY_FIELD(driver)},       {"since", CVY_FIELD(since)},
    {"refreshed", CVY_FIELD(refreshed)}, {"last", CVY_FIELD(last)},
    {"first use", CVY_FIELD(first_use)}, {"algorithm", CVY_FIELD(algorithm)},
    {"cards", CVY_FIELD(cards)},         {CVY_MARK_TOLD, CVY_FIELD(told)},
};

static void add_line(cvy_text *text, const char *key, const char *value) {
  cvy_text_add(text, "%s: ", key);
  for (; *value; value++) cvy_text_add(text, "%c", *value == '\n' ? ' ' : *value);
  cvy_text_add(text, "\n");
}

void cvy_marker_format(const cvy_marker *marker, char text[CVY_MARKER_TEXT]) {
  cvy_text out = cvy_text_in(text, CVY_MARKER_TEXT);
  cvy_text_add(&out, "%sprocess: %d\nborn: %" PRIu64 "\nstep: %" PRId64 "\n", version_line,
               marker->process, marker->born, marker->step);
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    add_line(&out, texts[i].key, (const char *)marker + texts[i].offset);
  }
}

/* The rest of the last line after "key: ", cut to `size`; "" if there is none. Lines are appended. */
static void find(const char *text, const char *key, char *value, size_t size) {
  size_t length = strlen(key);
  *value = '\0';
  for (const char *line = strchr(text, '\n'); line; line = strchr(line, '\n')) {
    line++;
    if (strncmp(line, key, length) != 0 || strncmp(line + length, ": ", 2) != 0) continue;
    const char *from = line + length + 2;
    size_t count = strcspn(from, "\n");
    cvy_text_copy(value, count + 1 < size ? count + 1 : size, from);
  }
}

bool cvy_marker_parse(const char *text, cvy_marker *out) {
  char number[32];
  memset(out, 0, sizeof(*out));
  if (strncmp(text, version_line, strlen(version_line)) != 0) return false;
  for (size_t i = 0; i < CVY_COUNT(texts); i++) {
    find(text, texts[i].key, (char *)out + texts[i].offset, texts[i].size);
  }
  find(text, "process", number, sizeof(number));
  out->process = atoi(number);
  find(text, "born", number, sizeof(number));
  out->born = strtoull(number, NULL, 10);
  find(text, "step", number, sizeof(number));
  out->step = strtoll(number, NULL, 10);
  /* It is in the name of the file where the marker is kept. */
  const size_t plain = strspn(out->boot, "0123456789abcdefghijklmnopqrstuvwxyz-");
  return plain > 0 && !out->boot[plain] && out->device[0] && out->process > 0;
}
