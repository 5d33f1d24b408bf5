"""Data with a known mutual information."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mi_lib.validate import one_of

from .channel import Channel, Source
from .gaussian import Gaussian
from .images import mnist
from .registry import MissingDataError, available
from .tables import breast_cancer, digits
from .text import imdb

__all__ = ["TASKS", "Channel", "Gaussian", "MissingDataError", "Source", "available", "make_task"]

TASKS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "gaussian": Gaussian,
        "mnist": lambda nuisance=0.0, slots=10: Channel(mnist(nuisance), slots=slots),
        "text": lambda slots=10: Channel(imdb(), slots=slots),
        "mixture": lambda slots=10: Channel(mnist(), imdb(), slots),
        "digits": lambda slots=10: Channel(digits(), slots=slots),
        "breast-cancer": lambda slots=10: Channel(breast_cancer(), slots=slots),
    }
)


def make_task(name: str, **options: Any) -> Any:
    """A task by name: gaussian, mnist, text, mixture, digits or breast-cancer."""
    return TASKS[one_of("task", name, TASKS)](**options)
