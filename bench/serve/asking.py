"""Requests to a server, timed as a client sees them."""

import http.client
import json
import os
import random
import signal
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

    def vocabulary(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/v1/models")
        return json.load(connection.getresponse())["data"][0]["meta"]["n_vocab"]

    def whole(self, ids, tokens):
        """The answer at once, with the engine's own times."""
        begin = time.perf_counter()
        connection, answer = self._post("/v1/completions", request(ids, tokens))
        value = json.load(answer)
        seconds = time.perf_counter() - begin
        connection.close()
        return Answer(value["choices"][0]["text"], seconds, seconds, [], value["usage"], value["timings"])

    def stream(self, ids, tokens):
        begin = time.perf_counter()
        connection, answer = self._post("/v1/completions", {**request(ids, tokens), "stream": True,
                                                            "stream_options": {"include_usage": True}})
        result, last = Answer(), None
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            result.usage = chunk.get("usage") or result.usage
            if not chunk["choices"] or not chunk["choices"][0]["text"]:
                continue
            now = time.perf_counter()
            if last is None:
                result.first_seconds = now - begin
            else:
                result.gaps.append(now - last)
            last = now
            result.text += chunk["choices"][0]["text"]
        result.seconds = time.perf_counter() - begin
        connection.close()
        return result

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


def request(ids, tokens):
    return {"prompt": ids, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}


def random_prompt(seed, tokens, vocabulary):
    """Ids of a made-up text. No two seeds begin alike, so prompts share nothing."""
    draw = random.Random(seed)
    return [draw.randrange(vocabulary // 2, vocabulary) for _ in range(tokens)]
