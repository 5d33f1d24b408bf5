"""Data with a known mutual information."""

from .gaussian import Gaussian

__all__ = ["Gaussian"]
