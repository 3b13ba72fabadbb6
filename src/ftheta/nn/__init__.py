"""Layers and blocks: plain `torch.nn.Module`s, their activations and initial weights."""

from __future__ import annotations

from .activations import ACTIVATIONS, Activation, Bump, Sign, Sin, Step, activation
from .conv import convolution, separable
from .convnet import ConvNet
from .counting import COSTS, multiply_adds
from .dbm import DBM
from .dense import MLP
from .dropout import Dropout
from .init import SCHEMES, initialise
from .memory import HopfieldLayer, HopfieldMemory, HopfieldPooling, association, retrieve
from .norm import NORMS, MapRMSNorm, Norm, norm
from .pooling import POOLINGS, Pooling, pooling
from .rbm import RBM, VISIBLES
from .residual import (
    BLOCKS,
    ORDERS,
    DenseBlock,
    Residual,
    SqueezeExcitation,
    StochasticDepth,
    deleted,
    jacobian_norms,
    project,
    residual_around,
    residual_block,
)
from .resnet import ResNet
from .symmetry import Flip, Invariant, Shift, Turn, cyclic, invariant
from .unet import SKIPS, UNet
from .upsampling import UPSAMPLINGS, RememberingPool, Unpool, upsampling

__all__ = [
    "ACTIVATIONS",
    "COSTS",
    "BLOCKS",
    "DBM",
    "MLP",
    "NORMS",
    "ORDERS",
    "POOLINGS",
    "RBM",
    "SCHEMES",
    "SKIPS",
    "UPSAMPLINGS",
    "VISIBLES",
    "Activation",
    "Bump",
    "ConvNet",
    "DenseBlock",
    "Dropout",
    "Flip",
    "HopfieldLayer",
    "HopfieldMemory",
    "HopfieldPooling",
    "Invariant",
    "MapRMSNorm",
    "Norm",
    "Pooling",
    "RememberingPool",
    "ResNet",
    "Residual",
    "Shift",
    "Sign",
    "Sin",
    "SqueezeExcitation",
    "Step",
    "StochasticDepth",
    "Turn",
    "UNet",
    "Unpool",
    "activation",
    "association",
    "convolution",
    "cyclic",
    "deleted",
    "initialise",
    "invariant",
    "jacobian_norms",
    "multiply_adds",
    "norm",
    "pooling",
    "project",
    "residual_around",
    "residual_block",
    "retrieve",
    "separable",
    "upsampling",
]
