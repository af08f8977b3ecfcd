/* Trains a network in the style of ResNet-18 to tell the images of a folder apart, which has a
 * folder for each class:
 *
 *   train_images --data flowers --checkpoint flowers.safetensors --resume
 *
 * The network is that of nets/resnet.c, the loop around it common/training.c; images/ has what is
 * about images: folders, files, sizes, batches. Change the network in `forward` below. */
#include <stdio.h>
#include <string.h>

#include "common/training.h"
#include "images/batch.h"
#include "nets/nets.h"

struct image_options {
  struct options common;
  int64_t width; /* channels of the first stage */
  int64_t memory;
  const char *weights;
  double rate;
};

static const struct option_row rows[] = {
    {"--size", "N", OPTION_COUNT, offsetof(struct image_options, common.plan.size),
     "of the network's input, a square (default 128)"},
    {"--width", "N", OPTION_COUNT, offsetof(struct image_options, width),
     "channels of the first stage (default 64, which is ResNet-18)"},
    {"--split", "N", OPTION_COUNT, offsetof(struct image_options, common.plan.split),
     "every N-th image of a class is for tests (default 5)"},
    {"--rate", "R", OPTION_NUMBER, offsetof(struct image_options, rate),
     "largest learning rate (default 0.05)"},
    {"--weights", "FILE", OPTION_TEXT, offsetof(struct image_options, weights),
     "begin with these, all but those of the classes: a state, as safetensors of torchvision's"},
    {"--memory", "MIB", OPTION_COUNT, offsetof(struct image_options, memory),
     "for decoded images; the others are decoded anew each time (default 2048)"},
    {NULL, NULL, OPTION_TEXT, 0, NULL},
};
static const struct command command = {
    "train_images: trains a ResNet on a folder of PNG and JPEG files, a folder for each class, "
    "for\n"
    "10 epochs",
    rows};

/* Pixels become numbers around 0; 0.45 and 0.225 are those of photographs. */
static struct net_value forward(struct net_capture *c, struct net_value pixels,
                                const struct classifier *classifier) {
  const struct image_options *options = classifier->user;
  struct net_value x = net_activate(c, "y = (x / 255 - 0.45) / 0.225", pixels);
  return net_resnet18_of_width(c, x, options->width, classifier->classes);
}

/* Everything but the last layer, whose classes are others. */
static convoy_status load_weights(const struct classifier *classifier, const char *path) {
  const struct net *net = &classifier->net;
  convoy_state *state;
  convoy_status status = convoy_state_new(net->context, &state);
  if (status) return status;
  for (int i = 0; i < net->count && !status; i++) {
    const struct net_parameter *parameter = &net->parameters[i];
    if (strncmp(parameter->name, "fc.", 3) != 0)
      status = convoy_state_tensor(state, parameter->name, parameter->value);
  }
  if (!status) status = convoy_state_load(state, path, CONVOY_STATE_EXTRA);
  convoy_state_free(state);
  return status;
}

static convoy_status begin(const struct classifier *classifier) {
  const struct image_options *options = classifier->user;
  return options->weights ? load_weights(classifier, options->weights) : CONVOY_OK;
}

static int learn(const struct image_options *options, convoy_context *context, bool resume,
                 const struct image_folder *folder, struct picture_book *book) {
  const struct plan *plan = &options->common.plan;
  struct classifier classifier = {.classes = folder->class_count,
                                  .image = {3, plan->size, plan->size},
                                  .decay = 1e-4,
                                  .forward = forward,
                                  .begin = begin,
                                  .user = options};
  int64_t steps = plan->epochs * ((folder->training.count + plan->batch - 1) / plan->batch);
  struct lesson lesson = {.images = book,
                          .count = folder->training.count,
                          .tests = folder->test.count,
                          .draw = picture_book_draw,
                          .test = picture_book_test,
                          .peak_rate = options->rate,
                          .warm_up = steps / 10};
  int status = 1;
  printf("%lld images to train with, %lld for tests, %d classes\n",
         (long long)folder->training.count, (long long)folder->test.count,
         (int)folder->class_count);
  if (classifier_open(&classifier, context, (uint64_t)plan->seed))
    fprintf(stderr, "network: %s\n", convoy_last_error());
  else
    status = train(&options->common, resume, &classifier, &lesson);
  classifier_close(&classifier);
  return status;
}

static int run(struct image_options *options, convoy_context *context) {
  static const struct plan defaults = {
      .seed = 1, .epochs = 10, .batch = 64, .size = 128, .split = 5};
  struct options *common = &options->common;
  struct image_folder folder;
  struct picture_book book;
  bool resume;
  int status = training_settle_plan(context, common, &defaults, &resume);
  if (status >= 0) return status;
  status = 1;
  if (image_folder_read(&folder, common->data, common->plan.split, common->plan.images)) {
    int64_t room = options->memory << 20;
    if (picture_book_open(&book, &folder, (int)common->plan.size, room))
      status = learn(options, context, resume, &folder, &book);
    else
      fputs("memory is exhausted\n", stderr);
    picture_book_close(&book);
  }
  image_folder_free(&folder);
  return status;
}

/* What no single argument shows to be wrong. */
static const char *contradiction(const struct image_options *options) {
  if (!options->common.data) return "--data names the folder with the images";
  if (options->common.plan.size == 0 || options->common.plan.size > 4096)
    return "--size must be 1 to 4096";
  if (options->width == 0 || options->width > 4096) return "--width must be 1 to 4096";
  if (options->common.plan.split == 0 || options->common.plan.split == 1)
    return "--split must be at least 2";
  return NULL;
}

int main(int count, char **arguments) {
  struct image_options options = {.width = 64, .memory = 2048, .rate = 0.05};
  convoy_options wanted = CONVOY_OPTIONS_INIT;
  convoy_context *context;
  int status = options_parse(&options.common, &command, count, arguments);
  if (status >= 0) return status;
  const char *wrong = contradiction(&options);
  if (wrong) {
    fprintf(stderr, "%s\n", wrong);
    return 2;
  }
  wanted.device = options.common.device;
  if (convoy_open(&wanted, &context)) {
    fprintf(stderr, "device: %s\n", convoy_last_error());
    return 1;
  }
  status = run(&options, context);
  convoy_close(context);
  return status;
}
