"""The compiled core and the NumPy kernels have the same names and signatures."""

from __future__ import annotations

import ast
import inspect
import re

import pytest

from partita._kernels import kernels, reference

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
WITHOUT_TWIN = {"spin"}  # measures the machine


def public_names(owner):
    return sorted(name for name in vars(owner) if not name.startswith("_"))


def compiled_parameters(function):
    """Names of the parameters, and whether each has a default, one list for each overload."""
    for text, *_ in function.__nb_signature__:
        plain = re.sub(r"ndarray\[[^\]]*\]", "Array", text).replace("\\", "")  # \0: first default
        arguments = ast.parse(f"{plain}: ...").body[0].args
        names = [argument.arg for argument in arguments.args]
        required = len(names) - len(arguments.defaults)
        yield [(name, i >= required) for i, name in enumerate(names)]


def twin_parameters(function):
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, p.default is not p.empty) for p in parameters]


def functions_of(core):
    """Every compiled function and constructor, with the path to its twin."""
    for name in public_names(core):
        member = getattr(core, name)
        if name in WITHOUT_TWIN:
            continue
        if not isinstance(member, type):
            yield name, member
            continue
        if hasattr(member.__init__, "__nb_signature__"):
            yield f"{name}.__init__", member.__init__
        yield from (
            (f"{name}.{method}", function)
            for method, function in vars(member).items()
            if not method.startswith("_") and hasattr(function, "__nb_signature__")
        )


def test_every_compiled_name_has_a_twin():
    missing = [name for name in public_names(kernels) if not hasattr(reference, name)]
    assert set(missing) == WITHOUT_TWIN
    for name in public_names(kernels):
        member = getattr(kernels, name)
        if isinstance(member, type) and name not in ("Csr32", "Csr64"):
            assert isinstance(getattr(reference, name), type)


def test_twins_have_the_signatures_of_the_core():
    compared = 0
    for path, function in functions_of(kernels):
        twin = reference
        for name in path.split("."):
            twin = getattr(twin, name)
        for parameters in compiled_parameters(function):
            assert parameters == twin_parameters(twin), path
            compared += 1
    assert compared > 60
