"""The page and its kernel, served on this machine alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from separatrix.studio.kernel import StudioModel
from separatrix.studio.page import joined

# The end of the page's only script: a browser loads one sooner than the many that it joins.
_BEGIN = 'startServed(document.getElementById("studio"), render);\n'
_TYPES = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES = "index.html", "studio.css", "mark.svg"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# The most bytes of a message: 2,000 points take a tenth of it.
_LONGEST = 1 << 20
# The most messages that may wait for their answers.
_MOST_WAITING = 20
# Seconds that a page has for coming back before the server ends.
_PATIENCE = 3.0


class _Pages:
    """The number of open pages."""

    def __init__(self, ended: Callable[[], None] | None) -> None:
        self.open = 0
        self._ended = ended

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            if not self.open and self._ended is not None:
                asyncio.get_running_loop().call_later(_PATIENCE, self._end)

    def _end(self) -> None:
        if not self.open and self._ended is not None:
            self._ended()


def application(
    make: Callable[[], StudioModel],
    token: str,
    hosts: Callable[[], frozenset[str]],
    ended: Callable[[], None] | None = None,
) -> Starlette:
    """The server as an ASGI application.

    Parameters
    ----------
    make : callable
        A function that makes a kernel for each page.
    token : str
        The text that every address begins with.
    hosts : callable
        A function that returns the server's names for itself: a request with another is refused,
        so that no page from elsewhere can speak with it.
    ended : callable, optional
        Called a while after the last page was closed.
    """
    pages = _Pages(ended)
    # No name that a request makes up reaches the file system.
    page_files = files("separatrix.studio.page")
    own: dict[str, Callable[[], bytes]]
    own = {name: page_files.joinpath(name).read_bytes for name in _FILES}
    own["main.js"] = lambda: joined(last=_BEGIN).encode()

    def right(given: str) -> bool:
        # As bytes: only texts in ASCII could be compared.
        return secrets.compare_digest(given.encode(errors="replace"), token.encode())

    def known(headers: Any, *, origin: bool) -> bool:
        if headers.get("host") not in hosts():
            return False
        given = headers.get("origin")
        return given in {f"http://{host}" for host in hosts()} if origin or given else True

    async def page(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        suffix = name.rpartition(".")[2]
        allowed = right(request.path_params["token"]) and known(request.headers, origin=False)
        if not allowed or name not in own:
            return PlainTextResponse("There is nothing here.\n", 404, headers=_HEADERS)
        return Response(own[name](), media_type=_TYPES[suffix], headers=_HEADERS)

    async def talk(socket: WebSocket) -> None:
        if not (right(socket.path_params["token"]) and known(socket.headers, origin=True)):
            await socket.close(1008)
            return
        await socket.accept()
        async with pages.one():
            with contextlib.suppress(WebSocketDisconnect):
                await _Conversation(socket, make()).run()

    routes = [
        WebSocketRoute("/{token}/ws", talk),
        Route("/{token}/", page),
        Route("/{token}/{name}", page),
    ]
    return Starlette(routes=routes)


def _kind(content: Any) -> Any:
    return content.get("type") if isinstance(content, dict) else None


class _Conversation:
    """One page and its kernel; only the newest of waiting requests of a kind is computed."""

    def __init__(self, socket: WebSocket, kernel: StudioModel) -> None:
        self.socket, self.kernel = socket, kernel
        self.waiting: list[Any] = []
        self.some = asyncio.Event()

    async def run(self) -> None:
        await self._send({"type": "traits", "values": self.kernel.traits})
        answering = asyncio.create_task(self._answer())
        try:
            await self._listen()
        finally:
            answering.cancel()

    async def _listen(self) -> None:
        while True:
            message: Any = None
            # Bytes, brackets in brackets in brackets, or no JSON.
            with contextlib.suppress(KeyError, RecursionError, ValueError):
                text = await self.socket.receive_text()
                message = json.loads(text) if len(text) <= _LONGEST else None
            kind = _kind(message)
            if kind == "custom":
                await self._queue(message.get("content"))
            elif kind != "traits":
                await self._send_content(
                    {"type": "error", "seq": 0, "text": "That is not a message."}
                )

    async def _queue(self, content: Any) -> None:
        """Queue a message for its answer; a request that it replaces is answered at once."""
        kind = _kind(content)
        if kind in ("ask", "frame", "score"):
            older = [one for one in self.waiting if _kind(one) == kind]
            self.waiting = [one for one in self.waiting if _kind(one) != kind]
        else:
            older = self.waiting[: max(0, len(self.waiting) - _MOST_WAITING + 1)]
            self.waiting = self.waiting[len(older) :]
        self.waiting.append(content)
        self.some.set()
        for one in older:
            await self._send_content(self.kernel.replaced(one))

    async def _answer(self) -> None:
        while True:
            await self.some.wait()
            if not self.waiting:
                self.some.clear()
                continue
            message = self.waiting.pop(0)
            notice = self.kernel.notice(message)
            if notice is not None:
                await self._send_content(notice)
            await self._send_content(await run_in_threadpool(self.kernel.reply, message))

    async def _send_content(self, content: dict[str, Any]) -> None:
        await self._send({"type": "custom", "content": content})

    async def _send(self, message: dict[str, Any]) -> None:
        await self.socket.send_text(json.dumps(message, allow_nan=False))


def serve(
    make: Callable[[], StudioModel],
    *,
    port: int = 0,
    keep: bool = False,
    opened: Callable[[str], None] = print,
) -> None:
    """Serve until the last page is closed, or Ctrl-C.

    Parameters
    ----------
    make : callable
        A function that makes a kernel for each page.
    port : int
        The port; by default any that is free.
    keep : bool
        Whether to go on without a page.
    opened : callable
        Called with the address, which has a token that nobody can guess, once the server listens.
    """
    token = secrets.token_urlsafe(16)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()
        number = listening.getsockname()[1]
        hosts = frozenset({f"127.0.0.1:{number}", f"localhost:{number}"})
        server: uvicorn.Server

        def ended() -> None:
            server.should_exit = True

        app = application(make, token, lambda: hosts, None if keep else ended)
        config = uvicorn.Config(
            app, log_level="error", access_log=False, ws_max_size=_LONGEST, lifespan="off"
        )
        server = uvicorn.Server(config)
        opened(f"http://127.0.0.1:{number}/{token}/")
        server.run(sockets=[listening])
