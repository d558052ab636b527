"""``python -m benchmarks studio``: a frame of dragging, through a real browser.

The command ``separatrix studio`` serves its page as for a user, Chromium opens it without a window,
and a real mouse takes one of 300 points and moves it.  A frame is what a hand waits for: from the
move of the mouse to the picture that shows the new fit with its certificate.  Two ways of moving:
one move at a time, each awaited; and a hand that never rests, a move every 8 ms.  Needs playwright
and a Chromium of the machine.

Options: ``--points N`` (default 300), ``--moves N`` (default 60), ``--only MODEL ...``,
``--hold-out PERCENT`` of the points (0, 20, 30 or 50), ``--fresh`` for 100 fresh points to test on,
``--docs``, which puts what was printed into ``docs/studio.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks import report

PAGE = Path(__file__).resolve().parent.parent / "docs" / "studio.md"

# Times every move up to the first frame that was painted after the answer to it.
_WATCH = """
() => {
  const root = document.querySelector(".separatrix-studio");
  const lines = document.querySelector(".layer.lines");
  Object.assign(window, { moved: 0, frames: [], pictures: 0 });
  document.querySelector(".surface").addEventListener(
    "pointermove", () => (window.moved = performance.now()), { capture: true });
  const painted = (done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(null);
  });
  new MutationObserver(() => {
    if (root.ariaBusy !== "false") return;
    const { moved } = window;
    painted(() => window.frames.push(performance.now() - moved));
  }).observe(root, { attributes: true, attributeFilter: ["aria-busy"] });
  let before = "";
  const look = () => {
    const now = lines.innerHTML;
    if (now !== before) window.pictures += 1;
    before = now;
    requestAnimationFrame(look);
  };
  look();
}
"""


def _address(lines: IO[str]) -> str:
    """The page's address in the document that the command prints over several lines."""
    text = ""
    for line in lines:
        text += line
        if line.startswith("}"):
            return str(json.loads(text)["address"])
    raise OSError("the command ended without an address")


@contextmanager
def _served() -> Iterator[str]:
    """The address at which the command serves its page."""
    words = [sys.executable, "-m", "separatrix", "studio", "--keep", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield _address(process.stdout)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        process.stdout.close()


def _frames(page: Any, model: str, n_moves: int) -> dict[str, float]:
    """Milliseconds of the frames in which a point is dragged."""
    kernel: list[float] = []

    def heard(frame: Any) -> None:
        content = json.loads(frame).get("content", {})
        if content.get("type") == "answer":
            kernel.append(content["milliseconds"])

    page.on("websocket", lambda socket: socket.on("framereceived", heard))
    page.reload()
    page.locator(".certificate:not(:empty)").wait_for(state="attached")
    page.locator("select.model-chooser").select_option(model)
    settled = "() => document.querySelector('.separatrix-studio').ariaBusy === 'false'"
    page.wait_for_timeout(500)
    page.wait_for_function(settled)
    page.evaluate(_WATCH)
    # The fit does not depend on points held out.
    box = page.locator(".layer.points .point:not(.held-out)").nth(7).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    # A small movement does not start a drag: the first move is large enough to do so.
    x, y = x + 20.0, y + 20.0
    page.mouse.move(x, y)
    page.wait_for_timeout(500)
    page.wait_for_function(settled)
    page.evaluate("() => (window.frames.length = 0)")
    kernel.clear()
    for k in range(1, n_moves + 1):
        page.mouse.move(x + k % 40, y + k % 17)
        page.wait_for_function(f"() => window.frames.length >= {k}")
    frames = page.evaluate("() => window.frames")
    alone = statistics.median(kernel)
    before = page.evaluate("() => [performance.now(), window.pictures]")
    for k in range(n_moves, n_moves + 250):
        page.mouse.move(x + k % 40, y + k % 17)
        page.wait_for_timeout(8)
    page.wait_for_function(settled)
    after = page.evaluate("() => [performance.now(), window.pictures]")
    page.mouse.up()
    return {
        "median": statistics.median(frames),
        "ninth": statistics.quantiles(frames, n=10)[-1],
        "kernel": alone,
        "between": (after[0] - before[0]) / max(after[1] - before[1], 1),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the milliseconds of a frame, model by model."""
    from separatrix.studio import StudioModel
    from separatrix.studio.shapes import shape
    from separatrix.studio.share import to_fragment
    from separatrix.studio.state import HELD_OUT, MODELS

    parser = argparse.ArgumentParser(prog="python -m benchmarks studio", description=__doc__)
    names = [model["name"] for model in MODELS]
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="MODEL")
    parser.add_argument("--hold-out", type=int, choices=HELD_OUT, default=0)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args(argv)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("playwright is not installed: no browser can be driven", file=sys.stderr)
        return 2
    if chromium is None:
        print("there is no chromium on this machine", file=sys.stderr)
        return 2
    begun = StudioModel().traits["state"]
    test = {"hold_out": given.hold_out, "fresh": given.fresh, "seed": 0}
    state = {**begun, **shape("blobs", n=given.points, noise=1.6), "test": test}
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    say("milliseconds     from a move to its picture       of which   between pictures")
    say("model              median   nine of ten below   the kernel   of a steady drag")
    with _served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(address + to_fragment(state))
        for name in given.only:
            found = _frames(page, name, given.moves)
            say(
                f"{name:17} {found['median']:7.0f} {found['ninth']:19.0f} {found['kernel']:12.0f} "
                f"{found['between']:18.0f}"
            )
        version = browser.version
        browser.close()
    say("")
    tested = "100 fresh ones to test on, " if given.fresh else ""
    tested = f"{given.hold_out} % of them held out, " if given.hold_out else tested
    say(
        f"{given.points} points, {tested}medians of {given.moves} moves; Chromium {version}, "
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    if given.docs:
        report.put(PAGE, "frames", "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
