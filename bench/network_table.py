"""Networks of torchvision, timm, segmentation_models_pytorch, braindecode and Ultralytics, with
random weights and small inputs, for comparisons that are about results and not about times.

build(name) is the network and its batch. Whatever draws random numbers is switched off in it.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Tuple

import torch
from torch import nn

sys.path.append(str(Path(__file__).resolve().parent.parent / "bindings" / "python" / "tests"))

BATCH = 2


class Entry(NamedTuple):
    library: str
    make: Callable[[], nn.Module]
    shape: Tuple[int, ...]  # of one sample


# ------------------------------------------------------------------------------------- libraries


def _timm(name: str, **options: Any) -> nn.Module:
    import torchvision_ops  # noqa: F401
    import timm

    return timm.create_model(name, pretrained=False, **options)


def _torchvision(name: str, **options: Any) -> nn.Module:
    import torchvision_ops  # noqa: F401
    import torchvision

    where = torchvision.models
    for part in (where, where.segmentation, where.video):
        if hasattr(part, name):
            return getattr(part, name)(weights=None, **options)
    raise ValueError(f"torchvision has no {name}")


def _segmentation(name: str, encoder: str, **options: Any) -> nn.Module:
    import torchvision_ops  # noqa: F401
    import segmentation_models_pytorch

    make = getattr(segmentation_models_pytorch, name)
    return make(encoder, encoder_weights=None, classes=3, **options)


def _braindecode(name: str, **options: Any) -> nn.Module:
    import braindecode.models

    return getattr(braindecode.models, name)(**options)


def _ultralytics(name: str) -> nn.Module:
    import torchvision_ops  # noqa: F401
    from ultralytics import YOLO

    return YOLO(f"{name}.yaml", verbose=False).model


# ---------------------------------------------------------------------------------------- tables

#: name: extent of the image, and the constructor's options.
_TIMM: Dict[str, Tuple[int, Dict[str, Any]]] = {
    "cait_xxs24_224": (64, {"img_size": 64, "depth": 4}),
    "coat_lite_tiny": (64, {"img_size": 64}),
    "convmixer_768_32": (64, {}),
    "convnext_atto": (64, {}),
    "convnextv2_atto": (64, {}),
    "crossvit_tiny_240": (240, {}),
    "cspresnet50": (64, {}),
    "densenet121": (64, {}),
    "dla46_c": (96, {}),
    "ecaresnet26t": (96, {}),
    "edgenext_xx_small": (96, {}),
    "efficientformer_l1": (224, {}),
    "efficientnet_b0": (96, {}),
    "efficientvit_b0": (96, {}),
    "ese_vovnet19b_dw": (96, {}),
    "fastvit_t8": (96, {}),
    "fbnetc_100": (96, {}),
    "focalnet_tiny_srf": (64, {}),
    "gernet_s": (96, {}),
    "ghostnet_050": (96, {}),
    "gmlp_ti16_224": (64, {"img_size": 64}),
    "hardcorenas_a": (96, {}),
    "hgnetv2_b0": (96, {}),
    "hrnet_w18_small": (64, {}),
    "inception_next_atto": (96, {}),
    "lcnet_050": (96, {}),
    "levit_128s": (224, {}),
    "maxvit_rmlp_pico_rw_256": (64, {"img_size": 64}),
    "mixer_s32_224": (64, {"img_size": 64}),
    "mixnet_s": (96, {}),
    "mnasnet_small": (96, {}),
    "mobilenetv2_050": (96, {}),
    "mobilenetv3_small_050": (96, {}),
    "mobilenetv4_conv_small_050": (96, {}),
    "mobileone_s0": (64, {}),
    "mobilevit_xxs": (96, {}),
    "mobilevitv2_050": (96, {}),
    "nf_regnet_b0": (96, {}),
    "nf_resnet26": (64, {}),
    "pit_ti_224": (64, {"img_size": 64}),
    "poolformer_s12": (64, {}),
    "pvt_v2_b0": (64, {}),
    "regnetx_002": (96, {}),
    "regnety_002": (96, {}),
    "repghostnet_050": (96, {}),
    "repvgg_a0": (64, {}),
    "res2net50_14w_8s": (64, {}),
    "resmlp_12_224": (64, {"img_size": 64}),
    "resnest14d": (64, {}),
    "resnet18": (96, {}),
    "resnet50": (96, {}),
    "resnetv2_50": (64, {}),
    "resnext50_32x4d": (64, {}),
    "rexnet_100": (96, {}),
    "selecsls42b": (96, {}),
    "seresnext26d_32x4d": (96, {}),
    "skresnet18": (96, {}),
    "starnet_s050": (96, {}),
    "swin_tiny_patch4_window7_224": (64, {"img_size": 64, "window_size": 4, "depths": (2, 2, 2)}),
    "tinynet_e": (96, {}),
    "tiny_vit_5m_224": (224, {}),
    "twins_svt_small": (64, {"img_size": 64}),
    "visformer_tiny": (64, {"img_size": 64}),
    "vit_tiny_patch16_224": (64, {"img_size": 64}),
    "xception41": (96, {}),
    "xcit_nano_12_p16_224": (64, {"img_size": 64}),
}

_TORCHVISION: Dict[str, Tuple[Tuple[int, ...], Dict[str, Any]]] = {
    "alexnet": ((3, 96, 96), {}),
    "deeplabv3_mobilenet_v3_large": ((3, 96, 96), {"weights_backbone": None}),
    "fcn_resnet50": ((3, 64, 64), {"weights_backbone": None}),
    "googlenet": ((3, 96, 96), {"init_weights": False, "aux_logits": False}),
    "inception_v3": ((3, 128, 128), {"init_weights": False, "aux_logits": False}),
    "lraspp_mobilenet_v3_large": ((3, 96, 96), {"weights_backbone": None}),
    "mnasnet0_5": ((3, 96, 96), {}),
    "mobilenet_v3_small": ((3, 96, 96), {}),
    "r3d_18": ((3, 4, 32, 32), {}),
    "shufflenet_v2_x0_5": ((3, 96, 96), {}),
    "squeezenet1_1": ((3, 96, 96), {}),
}

#: name: architecture, encoder and options.
_SEGMENTATION: Dict[str, Tuple[str, str, Dict[str, Any]]] = {
    "unet_resnet18": ("Unet", "resnet18", {}),
    "unetplusplus_mobilenet_v2": ("UnetPlusPlus", "mobilenet_v2", {}),
    "fpn_resnet18": ("FPN", "resnet18", {}),
    "linknet_resnet18": ("Linknet", "resnet18", {}),
    "manet_resnet18": ("MAnet", "resnet18", {}),
    "deeplabv3plus_resnet18": ("DeepLabV3Plus", "resnet18", {}),
}

#: name: channels, samples and options.
_BRAINDECODE: Dict[str, Tuple[int, int, Dict[str, Any]]] = {
    "ATCNet": (22, 1125, {"n_outputs": 4, "sfreq": 250}),
    "Deep4Net": (8, 512, {"n_outputs": 4}),
    "EEGConformer": (8, 512, {"n_outputs": 4, "final_fc_length": "auto"}),
    "EEGInceptionERP": (8, 512, {"n_outputs": 4, "sfreq": 128}),
    "EEGITNet": (8, 512, {"n_outputs": 4}),
    "EEGNetv1": (8, 512, {"n_outputs": 4}),
    "EEGNetv4": (8, 512, {"n_outputs": 4}),
    "ShallowFBCSPNet": (8, 512, {"n_outputs": 4, "final_conv_length": "auto"}),
    "SleepStagerChambon2018": (2, 3000, {"n_outputs": 5, "sfreq": 100}),
    "USleep": (2, 3000, {"n_outputs": 5, "sfreq": 100}),
}

_ULTRALYTICS = (
    "yolov5n",
    "yolov8n",
    "yolov8n-cls",
    "yolov8n-obb",
    "yolov8n-pose",
    "yolov8n-seg",
    "yolov9t",
    "yolov10n",
    "yolo11n",
)


def _table() -> Dict[str, Entry]:
    found: Dict[str, Entry] = {}
    for name, (extent, options) in _TIMM.items():
        found[name] = Entry("timm", partial(_timm, name, **options), (3, extent, extent))
    for name, (shape, options) in _TORCHVISION.items():
        found[name] = Entry("torchvision", partial(_torchvision, name, **options), shape)
    for name, (kind, encoder, options) in _SEGMENTATION.items():
        make = partial(_segmentation, kind, encoder, **options)
        found[name] = Entry("segmentation_models_pytorch", make, (3, 64, 64))
    for name, (channels, samples, options) in _BRAINDECODE.items():
        make = partial(_braindecode, name, n_chans=channels, n_times=samples, **options)
        found[name] = Entry("braindecode", make, (channels, samples))
    for name in _ULTRALYTICS:
        found[name] = Entry("ultralytics", partial(_ultralytics, name), (3, 96, 96))
    return found


NETWORKS = _table()

# ---------------------------------------------------------------------------------------- chance

#: Attributes of modules, by the class's name, that are a probability of something being left out.
_CHANCES = {
    "Dropout": "p",
    "DropPath": "drop_prob",
    "StochasticDepth": "p",
}


def without_chance(network: nn.Module) -> nn.Module:
    """Results can be compared only where nothing is drawn."""
    for module in network.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
        attribute = _CHANCES.get(type(module).__name__)
        if attribute is not None and hasattr(module, attribute):
            setattr(module, attribute, 0.0)
    return network


def without_constants(network: nn.Module) -> nn.Module:
    """Parameters that begin with one number, as biases, norms, last layers and the scales of
    branches do, get others around it: what is multiplied by zero would not be compared."""
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad and bool((parameter == parameter.flatten()[0]).all()):
                parameter.copy_(parameter + 0.1 * torch.randn(parameter.shape))
    return network


#: What has a threshold, and what is like it without.
_SMOOTH: Dict[type, Callable[[], nn.Module]] = {
    nn.ReLU: nn.SiLU,
    nn.ReLU6: nn.SiLU,
    nn.LeakyReLU: nn.SiLU,
    nn.Hardswish: nn.SiLU,
    nn.Hardsigmoid: nn.Sigmoid,
}


def without_thresholds(network: nn.Module) -> nn.Module:
    """Gradients jump where an activation's operand is near its threshold."""
    for module in list(network.modules()):
        for name, each in module.named_children():
            if type(each) in _SMOOTH:
                setattr(module, name, _SMOOTH[type(each)]())
    return network


def build(name: str, smooth: bool = False) -> Tuple[nn.Module, torch.Tensor]:
    """`smooth`: without thresholds in its activations, as far as they are modules."""
    torch.manual_seed(0)
    entry = NETWORKS[name]
    network = without_constants(without_chance(entry.make()))
    if smooth:
        network = without_thresholds(network)
    return network, torch.rand(BATCH, *entry.shape)
