/* On which machine and which day the library takes itself to be. */
#ifndef WHERE_H
#define WHERE_H

typedef struct where_state {
  const char *machine, *date;
} where_state;
extern where_state where;

/* Set-up of each test, with that of the box. */
int where_fresh(void **state);

#endif
