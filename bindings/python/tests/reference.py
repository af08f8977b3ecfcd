"""Convolution in float64 by looping over the filter's taps. Shares nothing with the library.

Operations on arrays with batch and channels first. Geometry: per-axis tuples, padding as pairs.
"""

import itertools

import numpy


def _taps(filter_extents):
    return itertools.product(*map(range, filter_extents))


def _window(tap, count, stride, dilation):
    """Index of the places that `count` positions read at a tap of the padded array."""
    axes = (
        slice(d * t, d * t + s * (n - 1) + 1, s)
        for t, n, s, d in zip(tap, count, stride, dilation)
    )
    return (slice(None), slice(None), slice(None), *axes)


def _padded(array, padding):
    return numpy.pad(array, [(0, 0)] * 3 + list(padding))


def _grouped(array, groups):
    """[N][C]... as [N][groups][C/groups]..."""
    n, c = array.shape[:2]
    return array.reshape(n, groups, c // groups, *array.shape[2:]).astype(numpy.float64)


def _filters(w, groups):
    """[A][B]... as [groups][A/groups][B]..."""
    return w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).astype(numpy.float64)


def _joined(array):
    n, groups, c = array.shape[:3]
    return array.reshape(n, groups * c, *array.shape[3:])


def _flat(array):
    """All positions on one axis."""
    return array.reshape(*array.shape[:3], -1)


def gather(big, w, count, stride, padding, dilation, groups):
    """small[n][a][o] = sum over b, f of big[n][b][o s - p + f d] w[a][b][f]."""
    source, filters = _padded(_grouped(big, groups), padding), _filters(w, groups)
    result = 0
    for tap in _taps(w.shape[2:]):
        window = source[_window(tap, count, stride, dilation)]
        result = result + numpy.einsum("ngb...,gab->nga...", window, filters[(..., *tap)])
    return _joined(result)


def scatter(small, w, extents, stride, padding, dilation, groups):
    """The transpose of gather: big[n][b][o s - p + f d] += small[n][a][o] w[a][b][f]."""
    source, filters = _grouped(small, groups), _filters(w, groups)
    count = small.shape[2:]
    room = [
        max(i + begin + end, d * (f - 1) + s * (o - 1) + 1)
        for i, (begin, end), d, f, s, o in zip(
            extents, padding, dilation, w.shape[2:], stride, count
        )
    ]
    result = numpy.zeros((small.shape[0], groups, w.shape[1], *room))
    for tap in _taps(w.shape[2:]):
        result[_window(tap, count, stride, dilation)] += numpy.einsum(
            "nga...,gab->ngb...", source, filters[(..., *tap)]
        )
    inner = tuple(slice(begin, begin + i) for i, (begin, _) in zip(extents, padding))
    return _joined(result[(slice(None),) * 3 + inner])


def correlate(big, small, w_shape, stride, padding, dilation, groups):
    """w[a][b][f] = sum over n, o of small[n][a][o] big[n][b][o s - p + f d]."""
    source, other = _padded(_grouped(big, groups), padding), _grouped(small, groups)
    result = numpy.zeros((groups, w_shape[0] // groups, *w_shape[1:]))
    for tap in _taps(w_shape[2:]):
        window = source[_window(tap, small.shape[2:], stride, dilation)]
        result[(..., *tap)] = numpy.einsum("ngbo,ngao->gab", _flat(window), _flat(other))
    return result.reshape(w_shape)


def count_positions(extent, filter_extent, stride, padding, dilation):
    """Output positions of one axis, counted."""
    last = extent + sum(padding) - dilation * (filter_extent - 1)
    return len(range(0, last, stride))


class Convolution:
    """One case: geometry and shapes; the operations on operands of it."""

    def __init__(self, x_shape, w_shape, geometry):
        rank = len(x_shape) - 2
        one, zero = (1,) * rank, (0,) * rank
        self.x_shape, self.w_shape = x_shape, w_shape
        self.groups = geometry.get("groups", 1)
        self.transposed = geometry.get("transposed", False)
        self.shape_args = (
            geometry.get("stride", one),
            geometry.get("padding", ((0, 0),) * rank),
            geometry.get("dilation", one),
        )
        self.y_shape = self._y_shape(geometry.get("output_padding", zero))

    def _y_shape(self, output_padding):
        axes = list(zip(self.x_shape[2:], self.w_shape[2:], *self.shape_args))
        if self.transposed:
            channels = self.w_shape[1] * self.groups
            spatial = [
                (i - 1) * s - sum(p) + d * (f - 1) + more + 1
                for (i, f, s, p, d), more in zip(axes, output_padding)
            ]
        else:
            channels = self.w_shape[0]
            spatial = [count_positions(*axis) for axis in axes]
        return (self.x_shape[0], channels, *spatial)

    def forward(self, x, w):
        if self.transposed:
            return scatter(x, w, self.y_shape[2:], *self.shape_args, self.groups)
        return gather(x, w, self.y_shape[2:], *self.shape_args, self.groups)

    def backward_data(self, dy, w):
        if self.transposed:
            return gather(dy, w, self.x_shape[2:], *self.shape_args, self.groups)
        return scatter(dy, w, self.x_shape[2:], *self.shape_args, self.groups)

    def backward_weights(self, x, dy):
        big, small = (dy, x) if self.transposed else (x, dy)
        return correlate(big, small, self.w_shape, *self.shape_args, self.groups)

    @staticmethod
    def backward_bias(dy):
        return dy.astype(numpy.float64).sum(axis=(0, *range(2, dy.ndim)))
