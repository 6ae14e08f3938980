"""``spadework view``: a local page over one or several runs, live while they train."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import secrets
import socket
import webbrowser
from pathlib import Path

from spadework.errors import ConfigError
from spadework.viewer.episodes import needs_viewer
from spadework.viewer.records import RunView


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories; several are overlaid")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")


def run(args: argparse.Namespace) -> int:
    """Run the verb: serves until Ctrl-C."""
    try:
        import uvicorn

        from spadework.viewer.app import build_app
        from spadework.viewer.pages import Pages
        from spadework.viewer.trials import build_tools
    except ImportError as error:
        raise needs_viewer(str(error.name)) from None
    views = [RunView(path) for path in args.runs]
    tools = build_tools(views[0].config)
    listener = _listen(args.port)
    secret = secrets.token_urlsafe(24)
    app = build_app(Pages(views, tools.token_texts), tools, secret)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/{secret}/"
    print(f"{address}\nThe address is a key: who has it can read these runs. Ctrl-C ends.", flush=True)
    if not args.no_browser:
        webbrowser.open(address)
    # Ctrl-C also ends what is still worked on: no error
    logging.getLogger("uvicorn.error").addFilter(lambda record: "graceful shutdown" not in record.getMessage())
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, server_header=False))

    async def serve() -> None:
        try:
            await server.serve(sockets=[listener])
        finally:
            await tools.sandbox.close()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())
    return 0


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # whoever opens the printed address at once waits, and is not refused
    except OSError as error:
        raise ConfigError(f"--port {port}: {error.strerror}; give another, or none for a free one") from None
    return listener
