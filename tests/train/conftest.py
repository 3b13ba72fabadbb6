"""Nets that a test makes without a seed are the same in every run, whatever ran before."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
