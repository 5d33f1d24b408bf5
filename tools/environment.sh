#!/bin/sh
# Find a Python in range, then let tools/environment.py make .venv up to date.
# An existing working .venv is preferred, so that a newer Python on the machine causes no reinstall.
# Trying to run a candidate is the only safe test: a version manager's shim may exist and not work.

usable() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

if [ -n "$PYTHON" ]; then
    if ! usable "$PYTHON"; then
        echo "PYTHON=$PYTHON was given, but it does not run or is not Python 3.11-3.13." >&2
        exit 1
    fi
    found="$PYTHON"
else
    found=""
    if usable .venv/bin/python && .venv/bin/python -c 'import pip' >/dev/null 2>&1; then
        found=.venv/bin/python
    else
        for candidate in python3.13 python3.12 python3.11 python3 python; do
            if usable "$candidate"; then
                found="$candidate"
                break
            fi
        done
    fi
fi

if [ -z "$found" ]; then
    echo "No Python 3.11, 3.12 or 3.13 was found (this machine has: $(python3 -V 2>&1 || true))." >&2
    echo "Install one, or name it: make book PYTHON=/path/to/python3.12" >&2
    exit 1
fi
exec "$found" tools/environment.py
