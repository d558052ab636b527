"""Messages that no page would send: each has one answer, and so has the next message."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import random
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import numpy as np
import pytest

from grids import share
from separatrix.studio import Studio, StudioModel
from separatrix.studio import kernel as kernel_module
from separatrix.studio.serving import application
from separatrix.studio.share import from_fragment
from separatrix.studio.state import StateError

_TYPES = ["ask", "frame", "shape", "columns", "axes", "prove", "score", "tour", "save"]
_FIELDS = ["state", "step", "of", "name", "n", "noise", "seed", "x", "y", "what", "at"]
_DEEP: list = []
for _ in range(5000):
    _DEEP = [_DEEP]
_WRONG = [
    10**400, -(10**400), 10**5000, 2**70, float("nan"), float("inf"), -float("inf"), 1e308, -1, 0,
    True, None, "", "x" * 70_000, "\ud800", "\x00", [], {}, [[]], {"a": {"b": [1, {}]}}, _DEEP,
    [10**400, 0], [float("nan"), "x"], ["ask"], "ask", {"version": 1}, [0.5, 0.5, 0.5], 0.5,
]  # fmt: skip


@pytest.fixture(scope="module")
def studio():
    table = {name: np.arange(6.0) for name in "ab"}
    return StudioModel(table, list("ynynyn"))


def run(work):
    """Run a coroutine in a thread of its own: after browser tests this one has a loop already."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


def checked(answer, seq):
    json.dumps(answer, allow_nan=False)
    assert answer["seq"] == seq
    if answer["type"] == "error":
        assert 3 < len(answer["text"]) < 300 and "\n" not in answer["text"]
        assert answer["text"].endswith(".")
    return answer


def changed(state, rng):
    """A state in which one thing, anywhere, is something else or is gone."""
    state = json.loads(json.dumps(state))
    at = state
    while True:
        key = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
        inner = at[key]
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.7:
            at = inner
        elif isinstance(at, dict) and rng.random() < 0.2:
            del at[key]
            return state
        else:
            at[key] = rng.choice(_WRONG)
            return state


@pytest.mark.sampled
def test_every_hostile_message_has_one_answer_and_the_next_is_answered(studio, caplog):
    rng = random.Random(0)
    good = {**studio.traits["state"], "points": [[0, 0, 0], [1, 1, 1], [2, 0, 0]]}
    for wrong in _WRONG:
        checked(studio.reply(wrong), 0)
        checked(studio.reply({"type": wrong, "seq": 3}), 3)
        seq = wrong if wrong in (-1, 0) and not isinstance(wrong, bool) else 0
        checked(studio.reply({"type": "ask", "seq": wrong, "state": good}), seq)
        checked(studio.reply({"type": "prove", "seq": wrong, "state": good}), seq)
        json.dumps(studio.notice({"type": "prove", "seq": wrong}), allow_nan=False)
        pairs = [(kind, field) for kind in _TYPES for field in _FIELDS]
        for kind, field in rng.sample(pairs, share(len(pairs))):
            checked(studio.reply({"type": kind, "seq": 4, "state": good, field: wrong}), 4)
    for k in range(share(300)):
        kind = rng.choice(["ask", "prove", "score"])
        message = {"type": kind, "seq": k, "state": changed(good, rng), "at": [0, 0]}
        checked(studio.reply({**message, "what": "separability"}), k)
    assert checked(studio.reply({"type": "ask", "seq": 9, "state": good}), 9)["type"] == "answer"
    # Messages that are nested too deeply for Python raise this error; all others are foreseen.
    unforeseen = {record.exc_info[0] for record in caplog.records}
    assert unforeseen <= {RecursionError}


@pytest.mark.parametrize("raised", [OverflowError, MemoryError, np.linalg.LinAlgError, KeyError])
def test_what_a_computation_raises_is_an_answer(studio, raised, monkeypatch, caplog):
    def fails(state):
        raise raised("array must\nnot contain infs.")

    state = studio.traits["state"]
    with monkeypatch.context() as patched:
        patched.setattr(kernel_module, "fitted", fails)
        said = checked(studio.reply({"type": "ask", "seq": 1, "state": state}), 1)
        assert said["text"].startswith(f"This could not be computed ({raised.__name__}: ")
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert studio.reply({"type": "ask", "seq": 2, "state": state})["type"] == "answer"


class _Socket:
    """The kernel's end of a conversation, spoken with directly."""

    def __init__(self, path="/token/ws"):
        self.to, self.sent, self.path = asyncio.Queue(), asyncio.Queue(), path

    async def __aenter__(self):
        app = application(StudioModel, "token", lambda: frozenset({"here"}))
        scope = {
            "type": "websocket", "path": self.path, "raw_path": b"", "root_path": "",
            "query_string": b"", "subprotocols": [], "scheme": "ws", "server": ("here", 80),
            "headers": [(b"host", b"here"), (b"origin", b"http://here")],
        }  # fmt: skip
        self.task = asyncio.create_task(app(scope, self.to.get, self.sent.put))
        self.to.put_nowait({"type": "websocket.connect"})
        assert (await self.sent.get())["type"] == "websocket.accept"
        self.traits = json.loads((await self.sent.get())["text"])["values"]
        return self

    async def __aexit__(self, *exception):
        self.to.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await self.task

    def say(self, text):
        self.to.put_nowait({"type": "websocket.receive", "text": text})

    async def hear(self):
        while True:
            content = json.loads((await asyncio.wait_for(self.sent.get(), 60))["text"])["content"]
            if content["type"] != "thinking":
                return content


def test_each_message_to_the_server_has_one_answer():
    async def talk():
        async with _Socket() as socket:
            state = socket.traits["state"]
            point = {**state, "points": [[10**400, 0, 0], [1, 1, 1]]}
            contents = [
                {"type": "ask", "seq": 1, "state": point},
                {"type": "prove", "seq": float("nan"), "what": "fewest", "state": point},
                {"type": "score", "seq": 2, "at": [10**400, 0]},
                {"type": "shape", "seq": 3, "name": "moons", "noise": 10**400},
                None, [], "text", {}, {"type": ["ask"]},
            ]  # fmt: skip
            for content in contents:
                socket.say(json.dumps({"type": "custom", "content": content}))
                assert (await socket.hear())["type"] == "error"
            for text in ("no JSON", "3", "{}", '{"type": "x"}', "[" * 100_000, "9" * 5000):
                socket.say(text)
                assert (await socket.hear())["text"] == "That is not a message."
            # Each of many messages at once has its answer, though only the newest state is fitted.
            for seq in range(100, 140):
                content = {"type": "ask" if seq % 2 else "shape", "seq": seq, "name": "four"}
                socket.say(json.dumps({"type": "custom", "content": {**content, "state": state}}))
            heard = [await socket.hear() for _ in range(40)]
            assert sorted(one["seq"] for one in heard) == list(range(100, 140))
            kinds = {one["seq"]: one["type"] for one in heard}
            assert kinds[139] == "answer" and set(kinds.values()) == {
                "answer",
                "points",
                "replaced",
            }

    run(talk())


@pytest.mark.parametrize(
    "name", [70_000 * "x" + ".js", "%00", "a%00.js", "..%2fkernel.py", "x.js", "é.js"]
)
def test_a_name_that_is_no_file_of_the_page_is_not_found(name):
    sent = []

    async def get():
        app = application(StudioModel, "token", lambda: frozenset({"here"}))
        path = f"/token/{unquote(name)}"
        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
            "root_path": "", "query_string": b"", "scheme": "http", "server": ("here", 80),
            "headers": [(b"host", b"here")],
        }  # fmt: skip

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        await app(scope, receive, send)

    run(get())
    assert sent[0]["status"] == 404


def test_hostile_messages_to_a_widget_have_one_answer(monkeypatch):
    sent = []
    monkeypatch.setattr(Studio, "send", lambda self, content, buffers=None: sent.append(content))
    widget = Studio()
    for wrong in _WRONG:
        for content in (wrong, {"type": "prove", "seq": wrong, "what": wrong, "state": wrong}):
            sent.clear()
            widget._handle_custom_msg(content, [])
            assert [one["type"] for one in sent if one["type"] != "thinking"] == ["error"]
            json.dumps(sent, allow_nan=False)
    widget._handle_custom_msg({"type": "ask", "seq": 1, "state": widget.state}, [])
    assert sent[-1]["type"] == "answer"
    with pytest.raises(StateError, match="at most a billion"):
        widget.state = {**widget.state, "points": [[10**400, 0, 0]]}


def test_a_link_of_brackets_is_none():
    for text in ("[" * 100_000, '{"v":1,"q":[400,0],"p":[]}', '{"v":1,"q":[0,0],"p":[1e999,0,0]}'):
        with pytest.raises(StateError):
            from_fragment("#s=" + base64.urlsafe_b64encode(text.encode()).decode())
