"""Draw the pictures of README.md again: ``python docs/readme_pictures.py``."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image
from sklearn.datasets import load_iris, make_circles

from separatrix import SVC, LinearSVC
from separatrix.kernels import PolynomialKernel
from separatrix.plots import KernelDisplay, MarginDisplay, theme

FOLDER = Path(__file__).resolve().parent / "images"


def main() -> None:
    mpl.use("agg")
    FOLDER.mkdir(exist_ok=True)
    iris = load_iris(as_frame=True)
    two = iris.target.to_numpy() > 0
    X, y = iris.data.iloc[two, 2:], iris.target_names[iris.target[two]]
    with theme("light"):
        panels = MarginDisplay.from_path(LinearSVC(loss="hinge"), X, y, lam=[1, 0.1, 0.001])
        panels.figure_.savefig(FOLDER / "margins.png", dpi=110)
        X, y = make_circles(120, noise=0.12, factor=0.4, random_state=0)
        model = SVC(kernel=PolynomialKernel(degree=2, coef0=1.0)).fit(X, np.where(y, "in", "out"))
        display = KernelDisplay.from_estimator(model, X, np.where(y, "in", "out"))
        display.figure_.savefig(FOLDER / "kernel.png", dpi=110)
    draw_studio()


def draw_studio() -> None:
    """Take a picture of the studio as it is served, where there is a Chromium."""
    from separatrix.studio import StudioModel
    from separatrix.studio.shapes import shape
    from separatrix.studio.share import to_fragment

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("studio.webp stays as it is: drawing it needs playwright and a Chromium")
        return
    state = {
        **StudioModel().traits["state"],
        **shape("moons", n=80, noise=0.9),
        "model": "kernel_svm",
        "parameters": {"kernel": "rbf", "gamma": 0.4, "C": 2.0},
        "panel": "objective",
    }
    words = [sys.executable, "-m", "separatrix", "studio", "--keep"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().split()[-1]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox"]
                )
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(address + to_fragment(state))
                page.locator(".certificate:not(:empty)").wait_for()
                page.locator(".separatrix-studio[aria-busy=false]").wait_for()
                raw = io.BytesIO(page.screenshot())
                browser.close()
        finally:
            server.send_signal(signal.SIGINT)
    with Image.open(raw) as picture:
        picture.convert("RGB").save(FOLDER / "studio.webp", quality=92, method=6)


if __name__ == "__main__":
    main()
