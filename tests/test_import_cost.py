"""`import mi_lib` loads next to nothing, and every door loads no more than it needs."""

import json
import subprocess
import sys

import pytest

import mi_lib

SLOW = ("sympy", "matplotlib", "seaborn", "pandas", "sklearn", "companion")


def fresh(code):
    """What a new Python prints as JSON after running `code`."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def loaded_by(statement):
    """Those of SLOW that a statement loads in a new Python."""
    return fresh(
        f"import json, sys\n{statement}\n"
        f"print(json.dumps([name for name in {SLOW} if name in sys.modules]))"
    )


def test_importing_the_library_loads_nothing_slow():
    assert loaded_by("import mi_lib") == []


def test_the_measurement_sees_what_is_loaded():
    """So that the tests around it cannot pass by seeing nothing."""
    assert loaded_by("import sympy, companion") == ["sympy", "companion"]


def test_modules_can_be_imported_by_name_and_those_of_losses_load_nothing_slow():
    """Also modules that are not among the public names."""
    names = "bounds, critics, estimators, objectives, scoring"
    assert loaded_by(f"from mi_lib import {names}\nassert objectives.__file__") == []


def test_the_estimator_waits_neither_for_sympy_nor_for_figures():
    found = loaded_by("from mi_lib import MIEstimator")
    assert not set(found) & {"sympy", "matplotlib", "seaborn", "companion"}


def test_the_public_names_are_listed_before_any_is_loaded():
    listed, own = fresh("import json, mi_lib; print(json.dumps([dir(mi_lib), list(vars(mi_lib))]))")
    assert {"MIEstimator", "infonce_ceiling", "finite"} <= set(mi_lib.__all__) <= set(listed)
    assert "MIEstimator" not in own


def test_every_public_name_can_be_imported():
    code = (
        "import json, mi_lib\n"
        "from mi_lib import *\n"
        "missing = [name for name in mi_lib.__all__ if name not in globals()]\n"
        "print(json.dumps(missing))"
    )
    assert fresh(code) == []


def test_a_name_loaded_late_is_the_one_in_its_module():
    from mi_lib import ceiling, scoring
    from mi_lib.inference import MIEstimator

    assert mi_lib.infonce_ceiling is ceiling.infonce_ceiling
    assert mi_lib.Log is scoring.Log
    assert mi_lib.MIEstimator is MIEstimator


def test_an_unknown_name_is_refused_as_python_does():
    with pytest.raises(AttributeError, match="module 'mi_lib' has no attribute 'infonce_celing'"):
        mi_lib.infonce_celing  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'objektives'"):
        from mi_lib import objektives  # noqa: F401
