/* The problems of the self-test. */
#ifndef SELFTEST_PROBLEMS_H
#define SELFTEST_PROBLEMS_H

/* They are small and in the problem grammar, without their direction. NULL ends the list. */
extern const char *const selftest_problems[];

#endif
