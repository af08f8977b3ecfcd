"""The convolutions that the tests compute: all ranks, all geometry, all numbers different.

Data are small integers, so that every partial sum is exact in float32 and results must be equal.
"""

import numpy
from reference import Convolution

# name: (x_shape, w_shape, geometry with everything per axis)
CASES = {
    "rank1": ((3, 4, 19), (5, 4, 3), {}),
    "rank1_all": (
        (2, 6, 23),
        (9, 2, 4),
        {"stride": (3,), "padding": ((2, 1),), "dilation": (2,), "groups": 3},
    ),
    "rank1_transposed": (
        (2, 6, 11),
        (6, 4, 5),
        {
            "stride": (3,),
            "padding": ((1, 2),),
            "dilation": (2,),
            "output_padding": (2,),
            "groups": 2,
            "transposed": True,
        },
    ),
    "rank2": ((2, 3, 9, 11), (7, 3, 4, 5), {}),
    "rank2_1x1": ((2, 5, 6, 7), (8, 5, 1, 1), {}),
    "rank2_strided": (
        (1, 3, 13, 10),
        (4, 3, 3, 2),
        {"stride": (2, 3), "padding": ((1, 0), (2, 1))},
    ),
    "rank2_all": (
        (2, 6, 17, 14),
        (4, 3, 3, 4),
        {"stride": (2, 5), "padding": ((1, 0), (0, 3)), "dilation": (4, 2), "groups": 2},
    ),
    "rank2_depthwise": (
        (3, 4, 8, 9),
        (8, 1, 3, 5),
        {"padding": ((1, 1), (2, 2)), "groups": 4},
    ),
    "rank2_transposed": (
        (2, 5, 7, 6),
        (5, 3, 4, 2),
        {
            "stride": (2, 3),
            "padding": ((1, 2), (0, 1)),
            "output_padding": (1, 2),
            "transposed": True,
        },
    ),
    "rank3": ((2, 2, 5, 7, 6), (3, 2, 2, 3, 4), {}),
    "rank3_all": (
        (1, 4, 9, 8, 11),
        (6, 2, 2, 3, 4),
        {
            "stride": (2, 1, 3),
            "padding": ((0, 1), (2, 1), (1, 3)),
            "dilation": (3, 2, 1),
            "groups": 2,
        },
    ),
    "rank3_transposed": (
        (1, 3, 4, 5, 3),
        (3, 2, 3, 2, 4),
        {
            "stride": (2, 3, 4),
            "padding": ((1, 1), (0, 1), (2, 0)),
            "output_padding": (0, 1, 3),
            "transposed": True,
        },
    ),
}


def integers(shape, seed):
    generator = numpy.random.default_rng(seed)
    return generator.integers(-4, 5, shape).astype(numpy.float32)


class Case:
    """One convolution with operands and all right results, float64."""

    def __init__(self, name):
        x_shape, w_shape, self.geometry = CASES[name]
        self.convolution = Convolution(x_shape, w_shape, self.geometry)
        self.x, self.w = integers(x_shape, 1), integers(w_shape, 2)
        self.dy = integers(self.convolution.y_shape, 3)
        self.bias = integers(self.dy.shape[1], 4)
        self.y = self.convolution.forward(self.x, self.w)
        self.dx = self.convolution.backward_data(self.dy, self.w)
        self.dw = self.convolution.backward_weights(self.x, self.dy)
        self.db = self.convolution.backward_bias(self.dy)

    def along_bias(self, array):
        """`array` plus the bias of each channel."""
        return array + self.bias.reshape(-1, *(1,) * (self.dy.ndim - 2))
