"""What is trained on: batches, sources, splits, tables and data sets."""

from __future__ import annotations

from ._affine import warp
from ._cells import Form
from ._columns import alike
from ._kinds import is_picture, kind_of
from .arrays import read_arrays, read_idx, read_idx_array
from .augment import (
    AUGMENTATIONS,
    Augmentation,
    affine,
    augmentation,
    crop,
    cutout,
    flip,
    noise,
    rand_augment,
    rotate,
    scale,
    shear,
    shift,
    views,
)
from .batch import Batch, InputSpec, TargetSpec, rows, take
from .datasets import Dataset, Truth
from .delimited import read_csv, task_of
from .encoded import Encoded
from .encoders import encoder_of
from .files import read
from .files_source import Files
from .image_encoder import ImageEncoder
from .leaks import leaks
from .makers import (
    MAKERS,
    blobs,
    checkerboard,
    circles,
    friedman,
    heteroscedastic,
    make,
    moons,
    polynomial,
    sinusoid,
    spirals,
    two_gaussians,
    xor,
)
from .mixing import blend, cutmix, mixup
from .parquet import read_parquet
from .picture_files import Pictures
from .pictures import open_images, read_images, read_picture
from .printed import PRINTED, cholesterol, sprint
from .range_encoder import RangeEncoder
from .real import fetch
from .registry import Facts, facts, load, names
from .shapes import shapes
from .sources import Rows, Source, Stream
from .splits import SPLITS, holdout, kfold
from .table import PixelEncoder, TableEncoder
from .textfile import read_text

__all__ = [
    "AUGMENTATIONS",
    "MAKERS",
    "PRINTED",
    "SPLITS",
    "Augmentation",
    "Batch",
    "Dataset",
    "Encoded",
    "Facts",
    "Files",
    "Form",
    "ImageEncoder",
    "InputSpec",
    "Pictures",
    "PixelEncoder",
    "RangeEncoder",
    "Rows",
    "Source",
    "Stream",
    "TableEncoder",
    "TargetSpec",
    "Truth",
    "affine",
    "alike",
    "augmentation",
    "blend",
    "blobs",
    "checkerboard",
    "cholesterol",
    "circles",
    "crop",
    "cutmix",
    "cutout",
    "encoder_of",
    "facts",
    "fetch",
    "flip",
    "friedman",
    "heteroscedastic",
    "holdout",
    "kfold",
    "is_picture",
    "kind_of",
    "leaks",
    "load",
    "make",
    "mixup",
    "moons",
    "names",
    "open_images",
    "noise",
    "polynomial",
    "rand_augment",
    "read",
    "read_arrays",
    "read_csv",
    "read_idx",
    "read_idx_array",
    "read_images",
    "read_parquet",
    "read_picture",
    "read_text",
    "rotate",
    "rows",
    "scale",
    "shapes",
    "shear",
    "shift",
    "sinusoid",
    "spirals",
    "sprint",
    "take",
    "task_of",
    "two_gaussians",
    "views",
    "warp",
    "xor",
]
