"""A detector: every cell of a grid says whether the middle of a box lies in it, how large the box is, and what it is.

    loss = -log p(object) + Σ over cells with an object of  |log size - log ŝ|² + |middle - m̂|² - log p(label)

Shapes: B images, G x G cells, K classes; boxes are x0, y0, x1, y1 in pixels.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from ftheta.check import Count
from ftheta.data.kinds import Boxes
from ftheta.models import NeuralEstimator
from ftheta.tasks import Detect
from ftheta.train import Loss, Objective


class Grid(nn.Module):
    """Object, middle, size and classes of every cell: (B, C, H, W) -> (B, G, G, 5 + K)."""

    def __init__(self, channels, classes, filters, cell):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, filters, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(filters, 5 + classes, cell, stride=cell),
        )

    def forward(self, x):
        return self.layers(x).movedim(1, -1)


class Found(Objective):
    """The loss of each image, for targets that are a list of (boxes, labels)."""

    def __init__(self, net, cell):
        super().__init__()
        self.net, self.cell = net, cell

    def loss(self, player, batch, draw):
        raw = self.net(batch.x)  # (B, G, G, 5 + K)
        there, each = torch.zeros_like(raw[..., 0]), raw.new_zeros(len(raw))
        for i, (boxes, labels) in enumerate(batch.y):
            for box, label in zip(boxes.tolist(), labels.tolist(), strict=True):
                middle = raw.new_tensor([(box[1] + box[3]) / 2, (box[0] + box[2]) / 2]) / self.cell  # row, column
                size = raw.new_tensor([box[3] - box[1], box[2] - box[0]]).log()
                row, column = middle.long().clamp(max=raw.shape[1] - 1).tolist()
                cell = raw[i, row, column]
                there[i, row, column] = 1
                place = (cell[1:3] - (middle - middle.floor())).square().sum() + (cell[3:5] - size).square().sum()
                each[i] = each[i] + place + F.cross_entropy(cell[5:], torch.tensor(label, device=cell.device))
        seen = F.binary_cross_entropy_with_logits(raw[..., 0], there, reduction="none")
        return Loss(*batch.sum(each + seen.sum((1, 2))))


@dataclass(kw_only=True, eq=False, repr=False)
class ToyDetector(NeuralEstimator):
    """Find objects: y is a list of dicts with boxes and labels, and so is an answer, with scores."""

    cell: Count = 4
    filters: Count = 8
    batch_size: Count = 16

    def kind(self):
        return Boxes(self.dtype)

    def task(self):
        return Detect()

    def build(self, x, y):
        return Grid(x.shape[0], y.n, self.filters, self.cell)

    def objective(self, module, y):
        return Found(module, self.cell)

    def predict(self, X):
        """For each image boxes, labels and scores of the cells that see an object."""
        found = []
        for raw in torch.from_numpy(self.apply(self.raw, X)):  # (G, G, 5 + K)
            cells = (raw[..., 0] > 0).nonzero()
            said = raw[cells[:, 0], cells[:, 1]]
            middle, size = (cells + said[:, 1:3]) * self.cell, said[:, 3:5].exp()
            ends = torch.cat([middle - size / 2, middle + size / 2], 1)[:, [1, 0, 3, 2]]
            found.append((ends.numpy(), said[:, 5:].argmax(-1).numpy(), said[:, 0].sigmoid().numpy()))
        return self.task().decode(found, self.target_)

    def score(self, X, y):
        """Share of images with the right number of boxes, all of the right labels."""
        right = [sorted(a["labels"]) == sorted(b["labels"]) for a, b in zip(self.predict(X), y, strict=True)]
        return sum(right) / len(right)
