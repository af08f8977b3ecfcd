/* The subcommands of `convoy`, each of which returns an exit status. */
#ifndef COMMANDS_H
#define COMMANDS_H

int bench_main(int argc, char **argv);
int graph_main(int argc, char **argv);
int health_main(int argc, char **argv);
int info_main(int argc, char **argv);
int overhead_main(int argc, char **argv);
int report_main(int argc, char **argv);
int selftest_main(int argc, char **argv);
int soak_main(int argc, char **argv);
int tune_main(int argc, char **argv);

#endif
