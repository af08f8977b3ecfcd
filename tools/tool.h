/* What the subcommands share: exit codes, and one entry point each. */
#ifndef TOOL_H
#define TOOL_H

#include <stdio.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3 };

int health_main(int argc, char **argv);
int info_main(int argc, char **argv);
int selftest_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int tune_main(int argc, char **argv);
int report_main(int argc, char **argv);
int overhead_main(int argc, char **argv);
int soak_main(int argc, char **argv);

#endif
