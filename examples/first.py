import convoy
import numpy as np

x = np.ones((1, 2, 8, 8), np.float32)  # N C H W
w = np.full((4, 2, 3, 3), 0.5, np.float32)  # K C R S
with convoy.open() as context:
    y = context.forward(x, w, stride=2, padding=1, activation="relu")
    dw = context.backward_weights(x, np.ones_like(y), w.shape, stride=2, padding=1)
print(y[0, 0, 1, 1], dw.shape)
