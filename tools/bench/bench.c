/* Reads the options of `convoy bench`, and opens the file that it writes. */
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/exit_status.h"
#include "common/interrupt.h"
#include "common/output.h"

static const usage about = {
    "bench",
    "Times the layers of shape tables, programs and reductions given as text, and training steps "
    "of\n"
    "networks. Each result is\n"
    "checked against a float64 reference before it is timed, those of programs and reductions "
    "against\n"
    "the CPU engine's bits, too. Times are those of one operation with its operands resident on "
    "the device; the "
    "column\n"
    "`transfer` is the time from host memory and back.",
    "examples:\n"
    "  convoy bench --quick                                 all devices, the table "
    "yolov8n_rx5600xt\n"
    "  convoy bench --shapes resnet50_b8 --device cpu --algorithm all\n"
    "  convoy bench --shapes resnet50_b8 --device cpu --threads 1,2,4,8,16\n"
    "  convoy bench --shapes bench/shapes/*.csv --device all --json now.json\n"
    "  convoy bench --shapes eeg --json new.json --compare old.json\n"
    "  convoy bench --shape 'n4c3h640w640 k16r3s3 stride2 pad1 forward' --algorithm all\n"
    "  convoy bench --op 'y = x * sigmoid(x) on n32c64h80w80' 'statistics on n32c64h80w80'\n"
    "  convoy bench --op 'matmul a64x1024 b1000x1024t' --algorithm all\n"
    "  convoy bench --net yolov8n,resnet50 --batch 16 --images 118287 --epochs 100\n"
    "  convoy bench --op 'max_pool n32c64h112w112 r3s3 stride2 pad1' 'copy x6000000 by1,2000 "
    "y2000,3000'\n"
    "\n"
    "columns: workspc = scratch memory; error = largest |y - exact|; bound = that error as a "
    "part "
    "of\n"
    "the bound it must keep; peak% = share of the device's measured multiply-add rate. Of --op "
    "they\n"
    "are GB/s of the least that has to be moved, and its share of the device's copying rate.\n",
};

bench_options bench_defaults(void) {
  return (bench_options){.min_time = -1.0, .budget = -1.0, .batch = 16, .length = {0, 1}};
}

/* argv as one line; cut if it is too long. */
static void join(int argc, char **argv, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "convoy");
  for (int i = 0; i < argc && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, " %s", argv[i]);
}

static int run_to_files(const bench_options *options) {
  output file = {.to = NULL};
  if (options->json && options->compare && output_replaces(options->json, options->compare)) {
    fputs("convoy bench: --json would overwrite the file that --compare names\n", stderr);
    return EXIT_USAGE;
  }
  if (options->json && !output_open("bench", options->json, &file)) return EXIT_USAGE;
  interrupt_catch();
  int status = bench_run(options, stdout, file.to);
  bool written = output_close("bench", &file, !interrupted());
  return interrupt_status(written ? status : EXIT_FAILED);
}

int bench_main(int argc, char **argv) {
  bench_options set = bench_defaults();
  const option table[] = {
      {"--shapes", "FILE...", OPTION_FILES, &set.shapes,
       "shape tables, or names of installed ones (yolov8n_rx5600xt)"},
      {"--shape", "TEXT...", OPTION_FILES, &set.texts,
       "problems as logs and reports print them: 'n2c3h7w9 k5r3s2 pad1 forward'"},
      {"--op", "TEXT...", OPTION_FILES, &set.operations,
       "programs, products, pooling ...: 'silu on n2c3h5w7', 'max_pool n1c2w9 s3'"},
      {"--gradient", NULL, OPTION_FLAG, &set.gradients, "of each --op its gradient, too"},
      {"--net", "NAME,...", OPTION_WORDS, &set.nets,
       "whole training steps of networks: yolov8n, resnet18, resnet50, mobilenet_v2, eegnet"},
      {"--batch", "N", OPTION_COUNT, &set.batch, "images of a step (16)"},
      {"--image", "N", OPTION_COUNT, &set.image, "height and width of images (the network's own)"},
      {"--images", "N", OPTION_COUNT, &set.length.images,
       "say how many days a training on so many images takes"},
      {"--epochs", "N", OPTION_COUNT, &set.length.epochs, "how often it sees them (1)"},
      {"--device", "all|NAME,...", OPTION_WORDS, &set.devices,
       "cpu, ocl:0, part of a name (CONVOY_DEVICE, else all)"},
      {"--threads", "N,...", OPTION_WORDS, &set.threads,
       "the CPU engine once with each number of threads (as the library chooses)"},
      {"--pass", "NAME,...", OPTION_WORDS, &set.passes,
       "forward, backward_data, backward_weights, backward_bias (the first three)"},
      {"--algorithm", "auto|all|NAME,...", OPTION_WORDS, &set.algorithms,
       "what the library chooses, each that accepts, or names (auto)"},
      {"--json", "FILE", OPTION_TEXT, &set.json, "also write JSON lines"},
      {"--compare", "FILE", OPTION_TEXT, &set.compare, "print ratios to an older --json file"},
      {"--samples", "N", OPTION_COUNT, &set.samples, "samples per line (10; quick: 3)"},
      {"--min-time", "S", OPTION_SECONDS, &set.min_time, "seconds per sample at least (0.002)"},
      {"--budget", "S", OPTION_SECONDS, &set.budget,
       "seconds of timing per line at most, one sample at least (3; quick: 0.5)"},
      {"--quick", NULL, OPTION_FLAG, &set.quick, "fewer samples"},
      {"--verbose", NULL, OPTION_FLAG, &set.verbose, "show parameters, spread and problem text"},
      {"--progress", NULL, OPTION_FLAG, &set.progress,
       "progress line even if stderr is not a terminal"},
      {NULL, NULL, OPTION_FLAG, NULL, NULL},
  };
  char command[1024];
  join(argc, argv, command, sizeof command);
  set.command = command;
  int status = EXIT_FINE;
  if (!options_read(&about, table, argc, argv, &status)) return status;
  if (set.shapes.count + set.texts.count + set.operations.count + set.nets.count == 0)
    words_add(&set.shapes, "yolov8n_rx5600xt", 16);
  return run_to_files(&set);
}
