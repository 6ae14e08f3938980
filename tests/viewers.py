"""A viewer in a process of its own, and how to ask it."""

from __future__ import annotations

import http.client
import json
import signal
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spadework.cli import main
from tests.runs import start_cli

QUICK = (
    "validation.panel=false",
    "validation.seeds=2",
    "designer.environments=2",
    "designer.every=1",
    "play.episodes=3",
)


def train(path: Path, *settings: str) -> Path:
    """A run of the scripted policy in a second or two."""
    assert main(["train", "scripted", "--run", str(path), *(a for s in (*QUICK, *settings) for a in ("--set", s))]) == 0
    return path


class Viewer:
    """A running viewer by its address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.parts = urllib.parse.urlsplit(address)

    def ask(
        self, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a raw request; ``path`` is taken as it stands."""
        connection = http.client.HTTPConnection("127.0.0.1", self.parts.port or 0, timeout=60)
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(method, path, data, headers or {})
        answer = connection.getresponse()
        read = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return read

    def get(self, page: str, **query: object) -> Any:
        """The JSON of a page."""
        status, _, body = self.ask(f"{self.parts.path}api/{page}?{urllib.parse.urlencode(query)}")
        assert status == 200, (page, status, body[:300])
        return json.loads(body)

    def post(self, page: str, **body: object) -> Any:
        """The JSON answer to a JSON body."""
        status, _, answer = self.ask(f"{self.parts.path}api/{page}", body)
        assert status == 200, (page, status, answer[:300])
        return json.loads(answer)


@contextmanager
def viewing(*runs: Path) -> Iterator[Viewer]:
    """A viewer over ``runs``, ended by Ctrl-C."""
    process = start_cli("view", "--no-browser", *runs)
    try:
        assert process.stdout is not None
        yield Viewer(process.stdout.readline().strip())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()
