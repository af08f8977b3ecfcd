/* Networks as functions, with the names that PyTorch's packages give their parameters. */
#ifndef NETS_NETS_H
#define NETS_NETS_H

#include "layers.h"

/* Logits [n][classes] of images [n][3][h][w]: "Deep Residual Learning for Image Recognition" (He,
 * Zhang, Ren, Sun, 2015), names of torchvision. */
struct net_value net_resnet18(struct net_capture *c, struct net_value x, int64_t classes);
/* With this number of channels in the first stage; 64 is ResNet-18. */
struct net_value net_resnet18_of_width(struct net_capture *c, struct net_value x, int64_t width,
                                       int64_t classes);
struct net_value net_resnet50(struct net_capture *c, struct net_value x, int64_t classes);
/* "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (Sandler et al., 2018), names of
 * torchvision, where dropout is 0.2. */
struct net_value net_mobilenet_v2(struct net_capture *c, struct net_value x, int64_t classes);
/* Logits of recordings [n][1][channels][samples]: "EEGNet: a compact convolutional network for
 * EEG-based brain-computer interfaces" (Lawhern et al., 2018), 8 temporal filters, names of
 * braindecode, where dropout is 0.25. */
struct net_value net_eegnet(struct net_capture *c, struct net_value x, int64_t classes);
/* YOLOv8n (Ultralytics, 2023) up to its three maps: [n][64 + classes] times the extents of x over
 * 8, 16 and 32, which therefore are multiples of 32. Of each place 16 numbers for every side of a
 * box, from which a loss or a detector goes on, and one for every class. Names of ultralytics,
 * where the pyramid's first convolution (model.9.cv1) has no SiLU in models built from their
 * configuration since 8.4; here it has, as in the weights that were published. */
void net_yolov8n(struct net_capture *c, struct net_value x, int64_t classes,
                 struct net_value *maps);

#endif
