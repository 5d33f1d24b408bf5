"""Hashes of text and of code, for results that outlive the code that made them.

Uses the standard library alone, so that any Python can compute them.
"""

import ast
import hashlib
import io
import token
import tokenize
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

OWN_PACKAGES = ("mi_lib", "companion")
MODULE_LISTS = ("MODULES",)  # names under which a module lists the modules that are hashed
# Python 3.12 cuts an f-string into tokens, 3.11 does not: they are put together again.
F_START, F_END = (getattr(token, f"FSTRING_{end}", -1) for end in ("START", "END"))
SILENT = (token.ENCODING, token.COMMENT, token.NL, token.ENDMARKER)
LAYOUT = {token.NEWLINE: "\n", token.INDENT: "{", token.DEDENT: "}"}
Place = tuple[int, int]  # line and character, as `tokenize` counts them


def text_hash(text: str) -> str:
    """Twelve hexadecimal digits of the SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def code_hash(modules: Iterable[str]) -> str:
    """A hash of what modules do, equal on every Python version.

    Comments, docstrings, white space and the modules' own names and places do not count: a module
    may move, and an import of our own packages may be spelt anew.
    """
    return sources_hash(_source(module) for module in modules)


def sources_hash(sources: Iterable[str]) -> str:
    """`code_hash` of the text of modules."""
    return text_hash("\n\n".join(sorted(meaning(source) for source in sources)))


def _source(module: str) -> str:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no module {module!r} to hash")
    return Path(spec.origin).read_text(encoding="utf-8")


def meaning(source: str) -> str:
    r"""The tokens of a module that decide what it computes, then what it imports of our own.

    >>> one = meaning("from .a import g\n\n\ndef f(x):  # why\n    return g(x, 1)\n")
    >>> one
    'def f ( x ) : \n { return g ( x , 1 ) \n }\ng'
    >>> one == meaning("'Doc.'\nfrom mi_lib.b import g\ndef f( x ):\n  return g(x,1)")
    True
    """
    imported, left_out = [], []
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if names := _own_import(node):
            imported += names
        elif not _is_docstring(node) and not _is_module_list(node):
            continue
        left_out.append(
            (
                (node.lineno, _characters(lines, node.lineno, node.col_offset)),
                (node.end_lineno, _characters(lines, node.end_lineno, node.end_col_offset)),
            )
        )
    words = []
    for word in _words(source, lines, left_out):
        if word == "\n" and (not words or words[-1] in LAYOUT.values()):
            continue  # of a statement that was left out
        words.append(word)
    return "\n".join([" ".join(words), *sorted(imported)])


def _words(source: str, lines: list[str], left_out: list[tuple[Place, Place]]) -> Iterator[str]:
    """The tokens that count, an f-string as one."""
    depth, start = 0, (0, 0)
    for part in tokenize.generate_tokens(io.StringIO(source).readline):
        if part.type == F_START:
            start = start if depth else part.start
            depth += 1
        elif part.type == F_END:
            depth -= 1
            if not depth and not _inside(start, left_out):
                yield _between(lines, start, part.end)
        elif not depth and part.type not in SILENT and not _inside(part.start, left_out):
            yield LAYOUT.get(part.type, part.string)


def _inside(place: Place, spans: list[tuple[Place, Place]]) -> bool:
    return any(start <= place < end for start, end in spans)


def _between(lines: list[str], start: Place, end: Place) -> str:
    """The source from one place to another."""
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    first, last = lines[start[0] - 1][start[1] :], lines[end[0] - 1][: end[1]]
    return "".join([first, *lines[start[0] : end[0] - 1], last])


def _characters(lines: list[str], line: int, offset: int) -> int:
    """`ast` counts bytes within a line, `tokenize` characters."""
    return len(lines[line - 1].encode()[:offset].decode())


def _own_import(node: ast.AST) -> list[str]:
    """What a statement imports of our own packages; nothing where it is no such statement."""
    if isinstance(node, ast.ImportFrom):
        if not node.level and (node.module or "").split(".")[0] not in OWN_PACKAGES:
            return []
        return [
            a.name if a.asname in (None, a.name) else f"{a.name} as {a.asname}" for a in node.names
        ]
    if isinstance(node, ast.Import) and all(
        a.name.split(".")[0] in OWN_PACKAGES for a in node.names
    ):
        return [a.asname or a.name.split(".")[0] for a in node.names]
    return []


def _is_docstring(node: ast.AST) -> bool:
    """A text that is a statement of its own: it does nothing."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_module_list(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return isinstance(node, ast.Assign | ast.AnnAssign) and any(
        isinstance(target, ast.Name) and target.id in MODULE_LISTS for target in targets
    )
