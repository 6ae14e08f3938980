"""An OpenAI endpoint that says given replies, in their order in each conversation: no model, but the real protocol."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serve(replies: Sequence[str]) -> Iterator[str]:
    """The endpoint's base URL, while it serves."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._send("application/json", json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}))

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = sum(message["role"] == "assistant" for message in asked["messages"])
            message = {"role": "assistant", "content": replies[said] if said < len(replies) else "Nothing."}
            about: dict[str, Any] = {"id": "x", "created": int(time.time()), "model": "m"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            if not asked.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                about |= {"object": "chat.completion", "choices": [choice], "usage": usage}
                self._send("application/json", json.dumps(about))
                return
            about["object"] = "chat.completion.chunk"
            begun = {**about, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
            ended = {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
            events = [f"data: {json.dumps(event)}\n\n" for event in (begun, ended)]
            self._send("text/event-stream", "".join(events) + "data: [DONE]\n\n")

        def _send(self, kind: str, text: str) -> None:
            raw = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
