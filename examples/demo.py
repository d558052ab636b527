"""A first look: fit real data from Python and from the command line, save, reload, verify.

Run it with ``make demo``, or ``python examples/demo.py`` where separatrix is installed. The data
come with scikit-learn, so nothing is downloaded.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from separatrix import (
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    verify,
)
from separatrix.persistence.model_file import load_model, save_model
from separatrix.tables import Encoder, read_table, split_rows, take_target


def from_python(name: str, folder: Path) -> None:
    """Fit four models to a built-in table; save each, reload it and compare."""
    features, y = take_target(read_table(name), "target")
    fit_rows, held_out = split_rows(y, test_size=0.2, seed=0)
    encoder = Encoder().fit(features.select(fit_rows), y[fit_rows])
    X, X_new = (
        encoder.transform(features.select(rows)) for rows in (fit_rows, held_out)
    )

    models = (
        LogisticRegression(),
        LinearSVC(),
        Perceptron(max_passes=100),
        LinearDiscriminantAnalysis(),
    )
    for model in models:
        title = type(model).__name__
        print(f"\n>>> model = {model!r}.fit(X, y)  # {name}, {X.shape[0]} rows")
        print(">>> print(model.certificate_)")
        print(fit(model, X, y[fit_rows]).certificate_)
        print(f"held out: accuracy {model.score(X_new, y[held_out]):.3f}")

        path = folder / f"{name}-{title}.separatrix"
        save_model(path, model, encoder=encoder)
        stored = load_model(path)
        again = stored.encoder.transform(features.select(held_out))
        scores, same_scores = (
            m.decision_function(new)
            for m, new in ((model, X_new), (stored.model, again))
        )
        check(
            predictions=np.array_equal(
                stored.model.predict(again), model.predict(X_new)
            ),
            scores=np.array_equal(scores, same_scores),
            certificate=stored.model.certificate_ == model.certificate_,
        )

    print(
        "\n>>> other = sklearn.linear_model.LogisticRegression(C=100, max_iter=5).fit(X, y)"
    )
    print(">>> print(verify(other, X, y))")
    print(verify(fit(peer(), X, y[fit_rows]), X, y[fit_rows]))


def fit(model, X, y):
    """Fit without warnings: certificates are printed, and they say when a fit stopped early."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def peer():
    """A model of another library, stopped long before its optimum."""
    from sklearn.linear_model import LogisticRegression as Other

    return Other(C=100, max_iter=5)


def check(**same: bool) -> None:
    """Stop the demonstration with an error unless saving and loading changed nothing."""
    changed = [what for what, unchanged in same.items() if not unchanged]
    if changed:
        sys.exit(f"saving and loading changed the {' and the '.join(changed)}")
    print("saved and loaded: the same predictions, scores (to the bit) and certificate")


def from_command_line(folder: Path) -> None:
    """Run the same steps from a terminal."""
    for command in (
        "separable breast-cancer --certificate cancer.json",
        "check-certificate cancer.json breast-cancer",
        "fit breast-cancer --target target -o cancer.separatrix",
        "verify cancer.separatrix breast-cancer",
        "evaluate cancer.separatrix breast-cancer",
        "info cancer.separatrix",
        "fit iris --target target --model svm -o iris.separatrix",
        "predict iris.separatrix iris --scores -o iris.csv",
        "fit diabetes -o diabetes.separatrix",
        "summary diabetes.separatrix",
    ):
        print(f"\n$ separatrix {command}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "separatrix", *command.split()],
            cwd=folder,
            check=False,
        )
        if done.returncode:
            sys.exit(f"separatrix {command}: exit code {done.returncode}")
    print("\n$ head -3 iris.csv")
    print("\n".join((folder / "iris.csv").read_text().splitlines()[:3]))


def main() -> None:
    """Run both demonstrations in a temporary folder."""
    print("The first fit of each kind compiles its loops, which takes a few seconds.")
    with tempfile.TemporaryDirectory() as folder:
        from_command_line(Path(folder))
        for name in ("breast-cancer", "iris"):
            from_python(name, Path(folder))
    print("\nEvery saved model was loaded unchanged.")


if __name__ == "__main__":
    main()
