"""The effect of every parameter of scikit-learn's classes, as a table."""

from __future__ import annotations

import importlib
import inspect

from separatrix.migration.installing import originals


def parameter_table() -> str:
    """A table in Markdown, by the signatures of scikit-learn's classes as installed.

    Returns
    -------
    str
        A table for each class: the parameter, its default in scikit-learn, and its effect here.

    Examples
    --------
    >>> from separatrix.migration.parameters import parameter_table
    >>> print(parameter_table().splitlines()[0])
    ### ElasticNet
    """
    library = importlib.import_module("separatrix")
    out = []
    for name in sorted(originals()):
        ours = getattr(library, name)
        out += [
            f"### {name}",
            "",
            "| parameter | default of scikit-learn | here |",
            "|---|---|---|",
        ]
        for key, parameter in inspect.signature(originals()[name]).parameters.items():
            declared = ours._parameters[key]
            text = declared.meaning.format(default=declared.default).replace("``", "`")
            text = text.replace(":func:", "").replace(":meth:", "")
            out.append(f"| `{key}` | `{parameter.default!r}` | {text} |")
        out.append("")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(parameter_table(), end="")
