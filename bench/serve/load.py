"""Many clients for a while: is anything lost, is each text the text that it is alone, and is everybody served alike?

Beside the clients that ask, others misbehave: connections that rest, requests that stop half-way, readers that never
read, and clients that leave in the middle of a text, as a killed program does."""

import http.client
import json
import random
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from statistics import mean, median

from asking import Failed, random_prompt, request
from sums import percentile

TEXTS = 24  # different ones


@dataclass
class Counts:
    """What all clients saw. Guarded by the lock."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    asked: int = 0
    tokens: int = 0
    lost: list = field(default_factory=list)     # what was said instead of a text
    wrong: list = field(default_factory=list)    # numbers of texts
    firsts: list = field(default_factory=list)   # seconds
    by_client: dict = field(default_factory=dict)  # seconds of each request for each token
    health: list = field(default_factory=list)   # seconds
    memory: list = field(default_factory=list)   # (seconds since the begin, bytes)
    left: int = 0                                # texts that were left in the middle


def texts_of(vocabulary):
    """Prompts with the number of tokens to write. Lengths of ordinary use, and now and then a long prompt."""
    draw = random.Random(5)
    lengths = [draw.choice([8, 16, 32, 64, 128]) for _ in range(TEXTS - 3)] + [600, 900, 1200]
    return [(random_prompt(60000 + i, length, vocabulary), draw.randrange(8, 33)) for i, length in enumerate(lengths)]


def ask_on(server, number, texts, alone, counts, end):
    draw = random.Random(number)
    while time.monotonic() < end:
        which = draw.randrange(len(texts))
        ids, tokens = texts[which]
        try:
            answer = server.stream(ids, tokens)
        except (Failed, OSError, ValueError, IndexError) as error:
            with counts.lock:
                counts.lost.append(f"{type(error).__name__}: {error}"[:200])
            continue
        with counts.lock:
            counts.asked += 1
            counts.tokens += tokens
            counts.firsts.append(answer.first_seconds)
            counts.by_client.setdefault(number, []).append(answer.seconds / tokens)
            if answer.text != alone[which]:
                counts.wrong.append(which)


def head_of(body):
    return ("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()


def leave_on(server, texts, counts, end):
    """Asks for a text, reads some of it, and is gone without a word: the connection is reset."""
    draw = random.Random(7)
    while time.monotonic() < end:
        body = json.dumps({**request(texts[draw.randrange(len(texts))][0], 200), "stream": True}).encode()
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
                connection.sendall(head_of(body) + body)
                connection.settimeout(draw.uniform(0.05, 2))
                connection.recv(draw.choice([1, 2000]))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        with counts.lock:
            counts.left += 1
        time.sleep(draw.uniform(0.2, 1))


def look_on(server, counts, end):
    """/health and the memory, four times a second."""
    begin = time.monotonic()
    while time.monotonic() < end:
        sent = time.perf_counter()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            connection.request("GET", "/health")
            status = connection.getresponse().status
            connection.close()
        except OSError as error:
            status = str(error)
        took = time.perf_counter() - sent
        with open(f"/proc/{server.child.pid}/status", encoding="ascii") as file:
            kept = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))
        with counts.lock:
            counts.health.append(took)
            counts.memory.append((time.monotonic() - begin, kept))
            if status != 200:
                counts.lost.append(f"/health: {status}")
        time.sleep(0.25)


def misbehaving(server, texts, resting, half, unread):
    """Connections that rest, that have half a head, and that never read a long answer."""
    connections = []
    body = json.dumps({**request(texts[0][0], 400), "stream": True}).encode()
    for i in range(resting + half + unread):
        connection = socket.socket()
        if i >= resting + half:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", server.port))
        if i >= resting + half:
            connection.sendall(head_of(body) + body)
        elif i >= resting:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: local")
        connections.append(connection)
    return connections


def growth(memory):
    """The memory at the end over that after a fifth of the time: medians of a tenth of the samples each."""
    count = max(1, len(memory) // 10)
    early = memory[len(memory) // 5:][:count]
    return median(kept for _, kept in memory[-count:]) / median(kept for _, kept in early)


def fairness(by_client):
    """The slowest client's mean time for a token over that of the client in the middle."""
    means = [mean(times) for times in by_client.values()]
    return max(means) / median(means)


def load(server, vocabulary, clients, seconds):
    texts = texts_of(vocabulary)
    alone = [server.whole(ids, tokens).text for ids, tokens in texts]
    counts = Counts()
    kept = misbehaving(server, texts, 1000, 64, 8)
    end = time.monotonic() + seconds
    work = [(ask_on, (server, i, texts, alone, counts, end)) for i in range(clients)]
    work += [(leave_on, (server, texts, counts, end)), (look_on, (server, counts, end))]
    threads = [threading.Thread(target=what, args=arguments) for what, arguments in work]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for connection in kept:
        connection.close()
    return counts


def report_of(counts, clients, seconds):
    return {"clients": clients, "seconds": seconds, "texts": counts.asked, "lost": len(counts.lost),
            "wrong": len(counts.wrong), "left": counts.left, "tokens": counts.tokens,
            "first_p50": percentile(counts.firsts, 50), "first_p99": percentile(counts.firsts, 99),
            "slowest_over_median": fairness(counts.by_client), "memory_growth": growth(counts.memory),
            "health_p99": percentile(counts.health, 99), "health_most": max(counts.health)}


def judge(counts, clients):
    """Error if a text was lost or is another one, or a client got nothing."""
    if counts.lost:
        raise Failed(f"{len(counts.lost)} requests were lost; the first: {counts.lost[0]}")
    if counts.wrong:
        raise Failed(f"{len(counts.wrong)} texts are not what they are alone; the first: text {counts.wrong[0]}")
    if missing := clients - len(counts.by_client):
        raise Failed(f"{missing} clients got no text")
