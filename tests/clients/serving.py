"""A server of the program for the tests in Python, and a stage that plays one whose answers are scripted."""
import http.client
import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests/data/tiny-models/stories260K-F16.gguf"


class Serving:
    """`tandem serve` as a child process. It ends with the `with`."""

    def __init__(self, program, *flags, model=MODEL, port=0):
        self.command = [program, "serve", "-m", str(model), *flags]
        self.port = port
        self.child = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end()

    def start(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TANDEM_")}
        self.child = subprocess.Popen([*self.command, "--port", str(self.port)], stderr=subprocess.PIPE, text=True,
                                      env=environment)
        self.said = []
        for line in self.child.stderr:
            self.said.append(line)
            if line.startswith("listening on "):
                self.port = int(line.split(";")[0].rsplit(":", 1)[1])
            if line.startswith("ready: "):
                break
        else:
            raise RuntimeError("the server did not start:\n" + "".join(self.said))
        threading.Thread(target=self.read_on, args=(self.child.stderr,), daemon=True).start()

    @staticmethod
    def read_on(stream):
        try:
            for _ in stream:
                pass
        except ValueError:  # it was closed
            pass

    def end(self, how=signal.SIGTERM):
        self.child.send_signal(how)
        status = self.child.wait(20)
        self.child.stderr.close()
        if how == signal.SIGTERM and status != 0:
            raise RuntimeError(f"the server ended with the status {status}")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body


def chunk(content=None, reason=None, **delta):
    if content is not None:
        delta["content"] = content
    return {"id": "chatcmpl-played", "object": "chat.completion.chunk", "created": 1, "model": "played",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]}


class Stage:
    """Plays the server with the real page: `pieces` are the answer, with `pause` seconds between them."""

    def __init__(self, real):
        answer, self.page = real.get("/")
        self.page_head = [(name, value) for name, value in answer.getheaders()
                          if name.lower() in ("content-type", "content-security-policy", "referrer-policy")]
        self.pieces, self.pause, self.key, self.asked, self.failure = ["Hello."], 0.0, None, [], None
        stage = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def log_message(self, *_):
                pass

            def do_GET(self):
                stage.get(self)

            def do_POST(self):
                stage.post(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def send(self, handler, status, body, head):
        handler.send_response(status)
        for name, value in head:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def json(self, handler, status, value):
        self.send(handler, status, json.dumps(value).encode(), [("Content-Type", "application/json")])

    def refuses(self, handler):
        if self.key is None or handler.headers.get("Authorization") == "Bearer " + self.key:
            return False
        self.json(handler, 401, {"error": {"message": "Give the server's key.", "type": "authentication_error"}})
        return True

    def get(self, handler):
        if handler.path == "/":
            return self.send(handler, 200, self.page, self.page_head)
        if handler.path == "/health":
            return self.json(handler, 200, {"status": "ok"})
        if self.refuses(handler):
            return None
        if handler.path == "/v1/models":
            return self.json(handler, 200, {"data": [{"id": "played", "meta": {"n_ctx": 128}}]})
        return self.json(handler, 404, {"error": {"message": "There is nothing."}})

    def post(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        if self.refuses(handler):
            return
        self.asked.append(body)
        if self.failure:
            return self.json(handler, self.failure[0], {"error": {"message": self.failure[1]}})
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        chunks = [chunk(role="assistant", content=""), *[chunk(each) for each in self.pieces], chunk(reason="stop")]
        try:
            for each in chunks:
                handler.wfile.write(b"data: " + json.dumps(each).encode() + b"\n\n")
                handler.wfile.flush()
                time.sleep(self.pause)
            handler.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.asked.append("gone")
