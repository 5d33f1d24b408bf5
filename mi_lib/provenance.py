"""Hashes of text and of code, for results that outlive the code that made them."""

import ast
import hashlib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path


def text_hash(text: str) -> str:
    """Twelve hexadecimal digits of the SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def code_hash(modules: Iterable[str]) -> str:
    """A hash of what modules do: comments, docstrings and layout do not count."""
    return text_hash("\n".join(_meaning(module) for module in sorted(modules)))


def _meaning(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no module {module!r} to hash")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            node.body = body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
