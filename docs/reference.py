"""Write docs/reference.md: every public name, from its docstring. Run by `make reference`."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

MODULES = {
    "partita": "Estimators and functions",
    "partita.halting": "Halting criteria",
    "partita.plots": "Displays",
    "partita.report": "Report",
    "partita.tables": "Tables",
    "partita.model_file": "Model files",
    "partita.choosing.criteria": "Criteria of a partition",
    "partita.theory": "Theory",
}
PAGE = Path(__file__).parent / "reference.md"
HEAD = """# Reference

Every public name, from its docstring. `make reference` writes this page; a test compares the two.

"""
SECTION = re.compile(r"^(\w[\w ]+)\n-{3,}\n", re.M)


def public_names(module: str) -> list[str]:
    """Names that a module exports, but for those that are modules themselves."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module
    ]
    return sorted(
        (name for name in names if not inspect.ismodule(getattr(loaded, name)) and name[0] != "_"),
        key=str.lower,
    )


def public_methods(cls: type) -> list[str]:
    """Methods and properties that a class offers itself, not those it has from scikit-learn."""
    found = []
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        ours = owner.__module__.startswith("partita")
        if ours and not name.startswith("_") and is_described(vars(owner)[name]):
            found.append(name)
    return found


def is_described(value: Any) -> bool:
    """Whether a class attribute is something that has a docstring of its own."""
    return callable(value) or isinstance(value, (property, classmethod, staticmethod))


def signature_of(name: str, value: Any) -> str:
    """The call as a user writes it, without annotations."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return name
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters if p.name != "self"]
    text = str(inspect.Signature(plain))
    return name + (text if "<" not in text else re.sub(r"=<[^>]*>", "=…", text))


def body_of(value: Any) -> str:
    """A docstring as Markdown: sections as bold heads, parameters as bullets, doctests as code."""
    text = inspect.getdoc(value) or ""
    head, *rest = SECTION.split(text)
    out = [prose(head)]
    for title, part in zip(rest[::2], rest[1::2], strict=True):
        lines = part.rstrip().splitlines()
        listed = title in ("Parameters", "Attributes", "Returns", "Raises", "Yields")
        out.append(f"**{title}**\n\n" + (bullets(lines) if listed else prose(part)))
    return "\n\n".join(part for part in out if part)


def prose(text: str) -> str:
    """Paragraphs as they are; doctests fenced."""
    parts = []
    for paragraph in text.strip().split("\n\n"):
        fenced = paragraph.lstrip().startswith(">>>")
        parts.append(f"```python\n{paragraph}\n```" if fenced else paragraph)
    return "\n\n".join(parts)


def bullets(lines: list[str]) -> str:
    """`name : type` lines with indented text below as a list."""
    items: list[list[str]] = []
    for line in lines:
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            items.append([f"* `{name}`" + (f" ({kind})" if kind else "")])
        elif line.strip() and items:
            items[-1].append(line.strip())
    return "\n".join(" ".join((item[0] + ":" * (len(item) > 1), *item[1:])) for item in items)


def entry(module: str, name: str) -> str:
    """One public name: its call, its docstring, and its methods."""
    value = getattr(importlib.import_module(module), name)
    prefix = "" if module == "partita" else f"{module}."
    if not (inspect.isclass(value) or callable(value)):
        return f"### {prefix}{name}\n"
    parts = [f"### {prefix}{name}", f"```python\n{signature_of(name, value)}\n```", body_of(value)]
    if inspect.isclass(value):
        rows = [method_row(value, method) for method in public_methods(value)]
        if rows:
            parts.append("\n".join(["| method | |", "|---|---|", *rows]))
    return "\n\n".join(part for part in parts if part) + "\n"


def summary_row(module: str, name: str) -> str:
    """A row of the table at the head of a module: a link, and the first line of the docstring."""
    value = getattr(importlib.import_module(module), name)
    heading = name if module == "partita" else f"{module}.{name}"
    anchor = re.sub(r"[^\w-]", "", heading.lower())
    return f"| [`{name}`](#{anchor}) | {first_line(value)} |"


def first_line(value: Any) -> str:
    """The first paragraph of a docstring, fit for a cell of a table."""
    text = inspect.getdoc(value) or "" if callable(value) or isinstance(value, property) else ""
    return text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def method_row(cls: type, name: str) -> str:
    """A row of the table of methods: the call, and the first line of its docstring."""
    value = getattr(cls, name)
    call = name if isinstance(value, property) else signature_of(name, value)
    return f"| `{call}` | {first_line(value)} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for module, title in MODULES.items():
        names = public_names(module)
        rows = "\n".join(summary_row(module, name) for name in names)
        parts.append(f"## {title} (`{module}`)\n\n| name | |\n|---|---|\n{rows}\n\n")
        parts.extend(entry(module, name) + "\n" for name in names)
    return "".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
