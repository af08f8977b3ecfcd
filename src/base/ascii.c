/* Letters of ASCII. A locale may hold other bytes for letters and blanks, and in a Turkish one I
 * and i are no two cases of one letter. */
#include <string.h>

#include "base/base.h"

char cvy_upper(char c) {
  return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

bool cvy_begins(const char *text, const char *with, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (cvy_upper(text[i]) != cvy_upper(with[i])) return false;
    if (!text[i]) return true;
  }
  return true;
}

bool cvy_same(const char *a, const char *b) {
  return cvy_begins(a, b, strlen(b) + 1);
}

bool cvy_has(const char *text, const char *part) {
  const size_t length = strlen(part);
  while (!cvy_begins(text, part, length) && *text) text++;
  return *text || !length;
}
