/* Trains a small convolutional network on Fashion-MNIST. A whole step, from the pixels to the new
 * weights, is one graph of Convoy's, and so is the evaluation; start reading at fashion/net.c,
 * which is the network, and common/classifier.c, which captures the graphs. common/training.c is
 * the loop around them. */
#include <stdio.h>

#include "fashion/batch.h"
#include "fashion/compare.h"
#include "fashion/net.h"

struct fashion_options {
  struct options common;
  bool compare_devices;
};

static const struct option_row rows[] = {
    {"--compare-devices", NULL, OPTION_FLAG, offsetof(struct fashion_options, compare_devices),
     "instead of training: the same steps on each device, from the checkpoint's weights"},
    {NULL, NULL, OPTION_TEXT, 0, NULL},
};
static const struct command command = {
    "train_fashion: trains a small convolutional network on Fashion-MNIST, by default the four\n"
    "gzipped IDX files where Debian installs them, for 2 epochs",
    rows};

static int learn(const struct fashion_options *options, convoy_context *context, bool resume,
                 const struct fashion_images *images) {
  struct classifier classifier = fashion_classifier;
  struct lesson lesson = fashion_lesson;
  const struct plan *plan = &options->common.plan;
  if (images->training.count < plan->batch) {
    fprintf(stderr, "%lld training images do not fill a batch of %lld\n",
            (long long)images->training.count, (long long)plan->batch);
    return 1;
  }
  if (options->compare_devices)
    return compare_devices(&options->common, resume ? options->common.checkpoint : NULL,
                           &images->training);
  lesson.images = images;
  lesson.count = images->training.count;
  lesson.tests = images->test.count;
  int status = 1;
  if (classifier_open(&classifier, context, (uint64_t)plan->seed))
    fprintf(stderr, "network: %s\n", convoy_last_error());
  else
    status = train(&options->common, resume, &classifier, &lesson);
  classifier_close(&classifier);
  return status;
}

static int run(struct fashion_options *options, convoy_context *context) {
  static const struct plan defaults = {.seed = 1, .epochs = 2, .batch = 64, .size = IMAGE_SIDE};
  struct fashion_images images = {.training = {0}};
  struct options *common = &options->common;
  bool resume;
  int status = training_settle_plan(context, common, &defaults, &resume);
  if (status >= 0) return status;
  status = 1;
  if (image_set_read(&images.training, common->data, "train", common->plan.images) &&
      image_set_read(&images.test, common->data, "t10k", common->plan.images))
    status = learn(options, context, resume, &images);
  image_set_free(&images.training);
  image_set_free(&images.test);
  return status;
}

int main(int count, char **arguments) {
  struct fashion_options options = {.common.data = "/usr/share/datasets/fashion-mnist"};
  convoy_options wanted = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  int status = options_parse(&options.common, &command, count, arguments);
  if (status >= 0) return status;
  wanted.device = options.common.device;
  if (convoy_open(&wanted, &context)) {
    fprintf(stderr, "device: %s\n", convoy_last_error());
    return 1;
  }
  status = run(&options, context);
  convoy_close(context);
  return status;
}
