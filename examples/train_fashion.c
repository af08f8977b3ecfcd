/* Trains a small convolutional network on Fashion-MNIST. A whole step, from the pixels to the new
 * weights, is one graph of Convoy's, and so is the evaluation; what else a training needs is in
 * fashion/, one idea per file. Start reading at fashion/net.c, which captures the graphs. */
#include <stdio.h>
#include <unistd.h>

#include "fashion/checkpoint.h"
#include "fashion/compare.h"
#include "fashion/idx.h"
#include "fashion/options.h"
#include "fashion/train.h"

/* With --resume a missing file is no error: the same command line starts and continues. */
static bool load(const struct options *options, struct checkpoint *from, bool *found) {
  *found = options->resume && access(options->checkpoint, F_OK) == 0;
  if (options->resume && !*found) printf("%s is not there yet: starting\n", options->checkpoint);
  return !*found || checkpoint_read(options->checkpoint, from);
}

static int run(const struct options *options, const struct checkpoint *from) {
  struct image_set training = {0}, test = {0};
  int status = 1;
  if (image_set_read(&training, options->data, "train", options->plan.images) &&
      image_set_read(&test, options->data, "t10k", options->plan.images)) {
    if (training.count < options->plan.batch) {
      fprintf(stderr, "%lld training images do not fill a batch of %lld\n",
              (long long)training.count, (long long)options->plan.batch);
    } else if (options->compare_devices) {
      status = compare_devices(options, from, &training);
    } else {
      status = train(options, from, &training, &test);
    }
  }
  image_set_free(&training);
  image_set_free(&test);
  return status;
}

int main(int count, char **arguments) {
  struct options options;
  struct checkpoint from = {0};
  bool found;
  int status = options_parse(&options, count, arguments);
  if (status >= 0) return status;
  if (!load(&options, &from, &found)) return 1;
  const struct plan *made = found ? &from.position.plan : NULL;
  status = plan_settle(&options.plan, made) ? run(&options, found ? &from : NULL) : 2;
  checkpoint_free(&from);
  return status;
}
