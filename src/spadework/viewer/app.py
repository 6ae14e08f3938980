"""The page's server: loopback only, a secret in every address, nothing that another site could ask or embed.

An address is ``/SECRET/…``: without the secret everything is 404. A request whose Host is not this machine's loopback
is refused, so that a name that a stranger points at 127.0.0.1 gets nothing; no header lets another origin read.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spadework.analysis.maps import map_kinds, map_ways
from spadework.errors import SpadeworkError
from spadework.viewer.layout import Layouts
from spadework.viewer.pages import Pages
from spadework.viewer.paging import Ask, number
from spadework.viewer.trials import Tools, Trials

STATIC = Path(__file__).with_name("static")
IMPORTS = '{"imports": {"ui/": "./static/ui/"}}'
"""Where the page's modules find each other; the report puts them into the file instead."""
HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?")


def index_page() -> str:
    """The one HTML page of the viewer, for the server."""
    names = sorted(path.name for path in (STATIC / "ui").glob("*.js"))
    preloads = "\n".join(f'<link rel="modulepreload" href="static/ui/{name}">' for name in names)  # all at once
    return shell().replace("IMPORTS", IMPORTS).replace("PRELOADS", preloads)


def shell() -> str:
    """The page as it lies in the package: IMPORTS and PRELOADS stand for what differs between server and report."""
    return (STATIC / "index.html").read_text(encoding="utf-8")


def policy() -> str:
    """The page's Content-Security-Policy: our own files, and the import map by its digest."""
    digest = base64.b64encode(hashlib.sha256(IMPORTS.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


class Guard:
    """Refuses foreign hosts and addresses without the secret; adds the headers that keep the page to itself."""

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self._app, self._secret = app, secret.encode()
        self._policy = policy()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = self._policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        first, _, _ = scope["path"].lstrip("/").partition("/")
        if HOST.fullmatch(Headers(scope=scope).get("host", "")) is None:
            await PlainTextResponse("this page answers on loopback only", 421)(scope, receive, guarded)
        elif not hmac.compare_digest(first.encode(), self._secret):
            await PlainTextResponse("not found", 404)(scope, receive, guarded)
        else:
            try:
                await self._app(scope, receive, guarded)
            except asyncio.CancelledError:  # the server ends while it works on this
                if not begun:
                    await PlainTextResponse("the viewer has ended", 503)(scope, receive, guarded)


def build_app(pages: Pages, tools: Tools, secret: str) -> ASGIApp:
    """The whole server over ``pages``; programs run with ``tools``."""
    trials, layouts = Trials(tools), Layouts()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        layouts.close()
        await trials.close()

    api = [*_readers(pages, layouts), *_runners(pages, trials)]
    files = Mount("/static", StaticFiles(directory=STATIC))
    index = Route("/", lambda _: HTMLResponse(index_page()))
    return Guard(Starlette(routes=[Mount(f"/{secret}", routes=[index, files, Mount("/api", routes=api)])],
                           lifespan=lifespan), secret)  # fmt: skip


def as_json(data: Any) -> str:
    """JSON text of ASCII alone, which holds lone surrogates too; a NaN anywhere becomes null."""
    try:
        return json.dumps(data, allow_nan=False)
    except ValueError:
        return json.dumps(_without_nan(data), allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _answer(data: Any) -> Response:
    if data is None:
        return PlainTextResponse("not found", 404)
    return Response(as_json(data), media_type="application/json")


def _readers(pages: Pages, layouts: Layouts) -> list[Route]:
    """GET: what stands in the runs' files, read in a thread."""

    def asked(path: str, work: Callable[[Request], Awaitable[Any]]) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                return _answer(await work(request))
            except SpadeworkError as error:
                return PlainTextResponse(str(error), 500)

        return Route(path, endpoint)

    def reader(path: str, read: Callable[[Request], Any]) -> Route:
        return asked(path, lambda request: asyncio.to_thread(read, request))

    async def overview(_: Request) -> Any:
        found = await asyncio.to_thread(pages.overview)
        asyncio.get_running_loop().run_in_executor(None, pages.prepare)
        return found

    async def likeness(request: Request) -> Any:
        kind = chosen(request.query_params.get("kind"), map_kinds())
        way = chosen(request.query_params.get("way"), map_ways())
        return await layouts.ask(await asyncio.to_thread(pages.sources, run(request), kind), kind, way)

    def run(request: Request) -> int:
        return min(number(request.query_params.get("run"), 0), len(pages.runs) - 1)

    def name(request: Request) -> str:
        return request.query_params.get("id", "")

    def ask(request: Request) -> Ask:
        return Ask.of(request.query_params)

    return [
        reader("/version", lambda _: pages.version()),
        asked("/overview", overview),
        reader("/environments", lambda r: pages.environments(run(r), ask(r))),
        reader("/points", lambda r: pages.points(run(r))),
        asked("/likeness", likeness),
        reader("/environment", lambda r: pages.environment(run(r), name(r))),
        reader("/episodes", lambda r: pages.episodes(run(r), ask(r))),
        reader("/episode", lambda r: pages.episode(run(r), name(r))),
        reader("/episode-tokens", lambda r: pages.episode_tokens(run(r), name(r))),
        reader("/previews", lambda r: pages.previews(run(r), r.query_params.get("ids", "").split(","))),
        reader("/timeline", lambda r: pages.timeline(run(r), _cycle(r, "first"), _cycle(r, "last"))),
        reader("/rejections", lambda r: pages.rejections(run(r))),
        reader("/designs", lambda r: pages.designs(run(r), ask(r))),
        reader("/design", lambda r: pages.design(run(r), name(r))),
        reader("/design-tokens", lambda r: pages.design_tokens(run(r), name(r))),
        reader("/evaluation", lambda _: pages.evaluation()),
    ]


def _cycle(request: Request, key: str) -> int | None:
    text = request.query_params.get(key)
    return number(text, 0) if text else None


def chosen(wanted: str | None, there: Sequence[str]) -> str:
    """``wanted`` where it is there, else the first."""
    return wanted if wanted is not None and wanted in there else there[0]


def _runners(pages: Pages, trials: Trials) -> list[Route]:
    """POST with a JSON body: what runs a program in the sandbox."""

    def runner(path: str, work: Callable[[dict[str, Any]], Awaitable[Any]]) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                body = json.loads(await request.body())
                return _answer(await work(body))
            except (ValueError, KeyError, TypeError, IndexError) as error:
                return PlainTextResponse(f"bad request: {error!r}", 400)
            except SpadeworkError as error:
                return PlainTextResponse(str(error), 500)

        return Route(path, endpoint, methods=["POST"])

    async def start(body: dict[str, Any]) -> Any:
        program = await asyncio.to_thread(pages.program, body["run"], body["id"])
        config = pages.runs[body["run"]].config
        return program and await trials.start(config, program, int(body["seed"]), bool(body["hinted"]))

    async def check(body: dict[str, Any]) -> Any:
        program = await asyncio.to_thread(pages.program, body["run"], body["id"])
        return program and await trials.check(pages.runs[body["run"]].config, program)

    async def watch(body: dict[str, Any]) -> Any:
        played = await asyncio.to_thread(pages.played, body["run"], body["id"])
        return played and {"steps": await trials.watch(pages.runs[body["run"]].config, played)}

    async def step(body: dict[str, Any]) -> Any:
        return await trials.step(body["game"], str(body["answer"]))

    async def stop(body: dict[str, Any]) -> Any:
        await trials.stop(body["game"])
        return {}

    return [
        runner("/play", start),
        runner("/step", step),
        runner("/stop", stop),
        runner("/check", check),
        runner("/watch", watch),
    ]
