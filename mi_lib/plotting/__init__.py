"""The book's figures, one function each: tables and numbers in, figures out."""

from .infonce_ceiling import ceiling_against_k, certified, sandwich
from .style import set_style

__all__ = ["ceiling_against_k", "certified", "sandwich", "set_style"]
