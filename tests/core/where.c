#include "core/where.h"

#include "core/box.h"
#include "os/os.h"

where_state where = {"m1", "2026-11-23T12:00:00Z"};

/* The linker sends these calls here (--wrap). */
void __wrap_cvy_machine_id(char *text, size_t size);
void __wrap_cvy_calendar(char *text, size_t size);

void __wrap_cvy_machine_id(char *text, size_t size) {
  cvy_text_copy(text, size, where.machine);
}

void __wrap_cvy_calendar(char *text, size_t size) {
  cvy_text_copy(text, size, where.date);
}

int where_fresh(void **state) {
  where = (where_state){"m1", "2026-11-23T12:00:00Z"};
  return box_fresh(state);
}
