/* The choice of a team, made once when an engine is opened. */
#include "cpu/threads/choice.h"

#include <string.h>

#include "cpu/threads/limits.h"
#include "cpu/threads/openmp.h"
#include "os/os.h"

typedef enum wish { UNSAID, OPENMP, POOL, UNKNOWN } wish;

static wish wish_of_user(void) {
  const char *text = cvy_env("CONVOY_TEAM");
  if (!text) return UNSAID;
  if (strcmp(text, "openmp") == 0) return OPENMP;
  return strcmp(text, "pool") == 0 ? POOL : UNKNOWN;
}

convoy_status cvy_team_choose(int32_t count, cvy_team **out) {
  wish wanted = wish_of_user();
  *out = NULL;
  if (wanted == UNKNOWN) {
    return cvy_fail(CONVOY_ERR_ARGUMENT, "CONVOY_TEAM is \"%s\"; it may be openmp or pool",
                    cvy_env("CONVOY_TEAM"));
  }
  if (wanted == OPENMP && !cvy_openmp_team(false))
    return cvy_fail(CONVOY_ERR_UNSUPPORTED,
                    "CONVOY_TEAM is openmp, and this library was built without OpenMP");
  if (wanted == POOL || cvy_process_is_forked()) return CONVOY_OK;
  if (wanted == OPENMP || count <= cvy_openmp_threads()) *out = cvy_openmp_team(wanted == UNSAID);
  return CONVOY_OK;
}

void cvy_team_name(int32_t wanted, cvy_text *words) {
  cvy_team *team = NULL;
  if (cvy_team_choose(wanted > 0 ? wanted : cvy_cpu_allowed(), &team) != CONVOY_OK)
    cvy_text_add(words, "%s", cvy_last_error());
  else if (team)
    cvy_text_add(words, "on the threads of %s", cvy_openmp_library());
  else
    cvy_text_add(words, "on a pool of threads of its own");
}
