"""The studio's server: this machine alone, its own pages alone, and an end when they are closed."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

# One worker runs all of them, for the sake of one server; so it does with those in a browser.
pytestmark = [pytest.mark.signals, pytest.mark.xdist_group("test_serving")]


def _started(*options):
    process = subprocess.Popen(
        [sys.executable, "-m", "separatrix", "studio", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", process.stdout.readline())
    assert found is not None, process.stderr.read()
    return process, found[0]


@pytest.fixture(scope="module")
def address():
    process, found = _started("--keep")
    try:
        yield urlsplit(found)
    finally:
        process.send_signal(signal.SIGINT)
        # Ctrl-C is the way to end it, and no error.
        _, said = process.communicate()
    assert process.returncode == 0 and "error" not in said


def _get(address, path, **headers):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=180)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


def _own(address):
    return f"http://{address.netloc}"


def test_the_page_is_served_to_who_knows_the_address(address):
    status, headers, text = _get(address, address.path)
    assert status == 200 and "separatrix studio" in text
    assert "script-src 'self'" in headers["content-security-policy"]
    assert _get(address, address.path + "main.js")[1]["content-type"].startswith("text/javascript")
    wrong = "__init__.py", "..%2fkernel.py", "nothing.js"
    for path in ("/", "/wrong/", "/%C3%A9/", *(address.path + name for name in wrong)):
        assert _get(address, path)[0] == 404, path


@pytest.mark.parametrize("headers", [{"Host": "evil.test"}, {"Origin": "http://evil.test"}])
def test_pages_from_elsewhere_are_refused(address, headers):
    assert _get(address, address.path, **headers)[0] == 404


@pytest.mark.parametrize("wrong", ["origin", "no origin", "token"])
def test_others_get_no_kernel(address, wrong):
    origin = {"origin": "http://evil.test", "no origin": None}.get(wrong, _own(address))
    path = "/wrong/ws" if wrong == "token" else f"{address.path}ws"
    with pytest.raises(InvalidStatus):
        connect(f"ws://{address.netloc}{path}", origin=origin, open_timeout=180)


def test_a_conversation(address):
    with connect(f"ws://{address.netloc}{address.path}ws", origin=_own(address)) as socket:
        state = json.loads(socket.recv(timeout=180))["values"]["state"]
        for hostile in ("no JSON", "[1]"):
            socket.send(hostile)
            assert (
                json.loads(socket.recv(timeout=180))["content"]["text"] == "That is not a message."
            )
        content = {"type": "ask", "seq": 5, "state": state}
        socket.send(json.dumps({"type": "custom", "content": content}))
        answer = json.loads(socket.recv(timeout=180))["content"]
        assert (answer["type"], answer["seq"]) == ("answer", 5)


_HOSTILE = [
    "", "null", "3", '"text"', "[]", "{}", "[" * 100_000, '{"type": NaN}', "\x00",
    *(
        json.dumps({"type": "custom", "content": content})
        for content in (
            None, [], {}, {"type": None}, {"type": "ask"}, {"type": ["ask"], "seq": 1},
            {"type": "ask", "seq": 1, "state": []}, {"type": "ask", "seq": "x", "state": {}},
            {"type": "frame", "seq": -1, "of": 10**30, "step": 1e300},
            {"type": "score", "seq": True, "at": ["a", None]}, {"type": "save", "what": {}},
            {"type": "shape", "name": "blobs", "n": 1e12, "noise": -1, "seed": "x"},
            {"type": "tour", "name": {"a": 1}}, {"type": "prove", "what": [], "state": 1},
        )
    ),
    json.dumps({"type": "traits", "values": [1, 2]}), json.dumps({"type": "traits"}),
    json.dumps({"type": "traits", "values": {"state": {"points": "x"}, "models": None}}),
]  # fmt: skip


def test_hostile_messages_get_a_sentence_and_the_conversation_goes_on(address):
    url, origin = f"ws://{address.netloc}{address.path}ws", _own(address)
    with connect(url, origin=origin) as socket:
        state = json.loads(socket.recv(timeout=180))["values"]["state"]
        for text in _HOSTILE:
            socket.send(text)
        # An older question than one that was answered is as good as another; each has its number.
        for seq in (2**53, 7):
            content = {"type": "ask", "seq": seq, "state": state}
            socket.send(json.dumps({"type": "custom", "content": content}))
            answer = {"type": None}
            while answer["type"] != "answer":
                answer = json.loads(socket.recv(timeout=180))["content"]
                # A newer message may have replaced an older one that was waiting.
                assert answer["type"] in ("answer", "error", "thinking", "replaced")
                assert "text" not in answer or 3 < len(answer["text"]) < 400
            assert answer["seq"] == seq
    # What is far too long, or no text, may end a conversation; others go on.
    for text in ("[" * (1 << 21), b"\x00\xff"):
        with connect(url, origin=origin) as socket:
            socket.recv(timeout=180)
            socket.send(text)
            try:
                said = socket.recv(timeout=180)
            except ConnectionClosed:
                continue
            assert json.loads(said)["content"]["type"] == "error"
    with connect(url, origin=origin) as socket:
        assert json.loads(socket.recv(timeout=180))["type"] == "traits"


def test_points_are_dragged_in_a_browser_and_the_end_of_the_page_ends_it(new_page):
    process, address = _started("iris", "--target", "target")
    page = new_page(viewport={"width": 1200, "height": 800})
    page.goto(address)
    certificate = page.locator(".certificate:not(:empty)")
    certificate.wait_for(state="attached")
    assert certificate.inner_text().startswith("Optimal: ")
    before = page.locator(".numbers").text_content()
    box = page.locator(".layer.points .point").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    page.wait_for_function(
        "text => document.querySelector('.numbers').textContent !== text", arg=before
    )
    page.close()
    assert process.wait(timeout=180) == 0
    process.communicate()
