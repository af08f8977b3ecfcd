/* The tool `convoy`: finds the subcommand in a table and runs it. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/exit_status.h"
#include "convoy/convoy.h"

typedef struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
} command;

static const command commands[] = {
    {"info", info_main, "devices, drivers, what was built in, and known traps of this machine"},
    {"selftest", selftest_main, "check every algorithm of every device against a reference"},
    {"bench", bench_main, "time convolutions of shape tables, each result checked first"},
    {"tune", tune_main, "find the fastest algorithms and parameters for shape tables, once"},
    {"graph", graph_main, "how a network's training step is carried out: operations, memory"},
    {"overhead", overhead_main, "what isolation and verification cost on a device"},
    {"soak", soak_main, "train for hours while faults strike, each step checked"},
    {"health", health_main, "faults recorded of devices, what follows from them, forgetting them"},
    {"report", report_main, "info, selftest and a short bench in one file to send"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  fputs("usage: convoy COMMAND [OPTION...]\n\ncommands:\n", out);
  for (int i = 0; i < COMMANDS; i++)
    fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fputs(
      "\n"
      "  convoy COMMAND --help   options of one command, with examples\n"
      "  convoy --version        version and build id\n"
      "\n"
      "Start with `convoy info`, then `convoy selftest`.\n"
      "\n"
      "exit status: 0 fine, 1 something failed or was wrong, 2 bad usage, 3 no such device,\n"
      "130 or 143 ended by Ctrl-C or SIGTERM: what there is until then is told as INCOMPLETE\n",
      out);
}

static int usage_error(const char *word, const char *what) {
  fprintf(stderr, "convoy: %s%s%s\n\n", word, *word ? ": " : "", what);
  print_help(stderr);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  if (argc < 2) return usage_error("", "which command?");
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return EXIT_FINE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("convoy %s\n", convoy_version());
    return EXIT_FINE;
  }
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
  return usage_error(argv[1], "there is no such command");
}
