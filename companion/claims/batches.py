"""The old place of `companion.batches`, for the chapters that still import from here."""

from ..batches import anchored, expectation, log_ratio, product_law, random_joints

__all__ = ["anchored", "expectation", "log_ratio", "product_law", "random_joints"]
