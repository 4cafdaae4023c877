"""The network of examples/vulkan_app from Python: an image goes to NHWC, through a convolution, and through a linear
layer, on NumPy arrays in host memory. Results are compared with NumPy in double precision.

    PYTHONPATH=PREFIX/share/sectile/python python3 network.py [DEVICE]
"""
import sys
import time

import numpy as np
import sectile


def convolve(pixels, filters, bias):
    """3x3 with a border of zeros: pixels in NHWC, filters in KCRS."""
    n, h, w, _ = pixels.shape
    padded = np.pad(pixels, ((0, 0), (1, 1), (1, 1), (0, 0)))
    result = np.zeros((n, h, w, filters.shape[0])) + bias
    for r in range(3):
        for s in range(3):
            result += padded[:, r:r + h, s:s + w] @ filters[:, :, r, s].T
    return np.maximum(result, 0)


def main(selector):
    rng = np.random.default_rng(7)
    image, filters, filter_bias, weights, bias = (
        rng.uniform(-1, 1, shape).astype("f4") for shape in ((2, 16, 12, 20), (32, 16, 3, 3), 32, (10, 7680), 10))
    with sectile.Device(selector) as device:
        print("device:", device.name)
        for call in ("first", "second"):
            start = time.perf_counter()
            pixels = sectile.permute(image, layout="NCHW:NHWC", device=device)
            features = sectile.conv2d(pixels, filters, layout="nhwc", padding=1, bias=filter_bias, activation="relu",
                                      device=device)
            scores = sectile.matmul(features.reshape(2, -1), weights.T, bias=bias, device=device)
            print(f"{call} calls {(time.perf_counter() - start) * 1e6:.0f} us")

    exact = image.transpose(0, 2, 3, 1)
    wide = [each.astype("f8") for each in (pixels, filters, filter_bias, features, weights, bias)]
    right = [np.array_equal(pixels, exact),
             np.allclose(features, convolve(*wide[:3]), rtol=1e-6, atol=1e-4),
             np.allclose(scores, wide[3].reshape(2, -1) @ wide[4].T + wide[5], rtol=1e-6, atol=1e-2)]
    print("ok" if all(right) else f"FAILED: {right}")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
