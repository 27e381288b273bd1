"""Requests to a server, timed as a client sees them."""

import bisect
import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field


class Failed(Exception):
    """The server did not start, or refused."""


@dataclass
class Answer:
    text: str = ""
    first_seconds: float = 0.0  # until the first piece of text
    seconds: float = 0.0        # until the end
    gaps: list = field(default_factory=list)  # seconds between two pieces
    usage: dict = field(default_factory=dict)
    timings: dict = field(default_factory=dict)


class Server:
    """`tandem serve` on a free port, for the time of a `with`."""

    def __init__(self, program, model, flags):
        self.command = [program, "serve", "-m", model, "--port", "0", *flags]

    def __enter__(self):
        environment = {name: value for name, value in os.environ.items()
                       if name in ("TANDEM_DEVICE", "TANDEM_COMPILE") or not name.startswith("TANDEM_")}
        self.child = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True, env=environment)
        said = []
        for line in self.child.stderr:
            said.append(line)
            if line.startswith("listening on "):
                self.port = int(line.split(";")[0].rsplit(":", 1)[1])
            if line.startswith("ready: "):
                threading.Thread(target=self.child.stderr.read, daemon=True).start()
                return self
        raise Failed("the server did not start:\n" + "".join(said[-8:]))

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(30)

    def _post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise Failed(f"{path}: {answer.status} {answer.read().decode()[:500]}")
        return connection, answer

    def is_ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def vocabulary(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/v1/models")
        return json.load(connection.getresponse())["data"][0]["meta"]["n_vocab"]

    def ids_of(self, text):
        """The ids of a text in the middle of another one."""
        connection, answer = self._post("/tokenize", {"content": text, "add_special": False})
        ids = json.load(answer)["tokens"]
        connection.close()
        return ids

    def whole(self, ids, tokens):
        """The answer at once, with the engine's own times."""
        begin = time.perf_counter()
        connection, answer = self._post("/v1/completions", request(ids, tokens))
        value = json.load(answer)
        seconds = time.perf_counter() - begin
        connection.close()
        return Answer(value["choices"][0]["text"], seconds, seconds, [], value["usage"], value["timings"])

    def stream(self, ids, tokens):
        """The answer as it comes. Nothing is parsed before its end, because the server computes on the same cores."""
        body = json.dumps({**request(ids, tokens), "stream": True, "stream_options": {"include_usage": True}}).encode()
        head = ("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
        arrivals = []
        begin = time.perf_counter()
        with socket.create_connection(("127.0.0.1", self.port), timeout=600) as connection:
            connection.sendall(head + body)
            while piece := connection.recv(1 << 16):
                arrivals.append((time.perf_counter() - begin, piece))
        return streamed(arrivals)

    def at_once(self, prompts, tokens):
        """One client for each prompt, all at the same time. Returns their answers and the seconds of all."""
        answers = [None] * len(prompts)

        def ask(i):
            answers[i] = self.stream(prompts[i], tokens)

        clients = [threading.Thread(target=ask, args=(i,)) for i in range(len(prompts))]
        begin = time.perf_counter()
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        seconds = time.perf_counter() - begin
        if None in answers:
            raise Failed("a client got no answer")
        return answers, seconds


def free_port():
    """A port that nobody listened on just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def streamed(arrivals):
    """The answer that came in these (seconds, bytes)."""
    raw = b"".join(piece for _, piece in arrivals)
    head, _, rest = raw.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise Failed(raw[:500].decode(errors="replace"))
    ends = list(itertools.accumulate(len(piece) for _, piece in arrivals))
    result, last, at = Answer(seconds=arrivals[-1][0]), None, len(head) + 4
    while at < len(raw):
        line = raw.index(b"\r\n", at)
        size = int(raw[at:line], 16)
        at = line + 2 + size + 2
        now = arrivals[min(bisect.bisect_left(ends, at - 2), len(ends) - 1)][0]  # its last byte came then
        for event in raw[line + 2:line + 2 + size].split(b"\n\n"):
            if not event.startswith(b"data: {"):
                continue
            chunk = json.loads(event[6:])
            if "error" in chunk:
                raise Failed(chunk["error"]["message"])
            result.usage = chunk.get("usage") or result.usage
            if not chunk["choices"] or not chunk["choices"][0]["text"]:
                continue
            if last is None:
                result.first_seconds = now
            else:
                result.gaps.append(now - last)
            last = now
            result.text += chunk["choices"][0]["text"]
    return result


def request(ids, tokens):
    return {"prompt": ids, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}


def random_prompt(seed, tokens, vocabulary):
    """Ids of a made-up text. No two seeds begin alike, so prompts share nothing."""
    draw = random.Random(seed)
    return [draw.randrange(vocabulary // 2, vocabulary) for _ in range(tokens)]
