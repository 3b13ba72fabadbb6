"""How well does a small convolutional network remove noise from images, with absolute and with squared errors?

Digits of 16 x 16 pixels with Gaussian noise as inputs, the clean ones as targets, three 3 x 3 convolutions that predict
the noise, trained on |ŷ - y|^p. What is the PSNR of images that were not in the training set?

    PSNR = 10 log₁₀(1 / mean squared error) dB;    baseline: the mean of 3 x 3 pixels
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...draw import Draw
from ...nn import convolution
from .. import Checks, Measured, Study, more
from ._nets import fit, images

METHODS = ("noisy image", "mean of 3 x 3", "network, p = 1", "network, p = 2")


class Denoiser(nn.Module):
    """x - f(x): the layers predict the noise."""

    def __init__(self, filters: int) -> None:
        super().__init__()
        first, middle = convolution(1, filters, 3), convolution(filters, filters, 3)
        self.layers = nn.Sequential(first, nn.ReLU(), middle, nn.ReLU(), convolution(filters, 1, 3))

    def forward(self, x: Tensor) -> Tensor:
        return x - self.layers(x)


def measure(
    seed: int, method: str, *, noise: float = 0.25, rows: int = 1000, filters: int = 16, epochs: int = 12
) -> dict[str, float]:
    """Mean PSNR of the test images in dB."""
    parts = [F.interpolate(x, scale_factor=2, mode="bilinear") for x, _ in images("digits", rows, seed)]
    generator = Draw(seed).at("study").generator("noise")
    (x, clean), (test, truth) = ((c + noise * torch.randn(c.shape, generator=generator), c) for c in parts)
    if method.startswith("network"):
        with Draw(seed).at("build").scope():
            net = Denoiser(filters)
        p = int(method[-1])
        steps = epochs * -(-len(x) // 32)
        fit(net, (x, clean), steps=steps, seed=seed, lr=0.01, batch=32, loss=lambda raw, y: (raw - y).abs() ** p)
        with torch.no_grad():
            test = net(test)
    elif method == "mean of 3 x 3":
        test = F.avg_pool2d(test, 3, 1, 1, count_include_pad=False)
    return {"PSNR (dB)": float((-10 * (test - truth).square().mean((1, 2, 3)).log10()).mean())}


study = Study(measure, {"method": METHODS}, seeds=5, tiny={"seeds": 2, "rows": 1600, "filters": 4, "epochs": 1})


@study.claim("B319", says="for denoising in image processing E‖y - f(x)‖_p^p, p = 1 or p = 2, is minimized")
def gains(m: Measured) -> Checks:
    psnr = m["PSNR (dB)"]
    yield more("p = 1 improves on the noisy image (dB)", psnr[2], psnr[0])
    yield more("p = 2 improves on the noisy image (dB)", psnr[3], psnr[0])
