"""Runs an agent of the OpenIntent client against a server that is killed, started again and full, with the code of docs/openintent-python.md as written.

PLACET is the path of the server's program, and PYTHONPATH the folder of `mailed.py`. Each step fails loudly: the steps are the functions below.
"""

import os
import re
import signal
import socket
import socketserver
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from mailed import Mails, Server, answer, link, until
from openintent import OpenIntentClient
from openintent.models import IntentStatus

DOCUMENT = os.path.join(os.path.dirname(__file__), "../../docs/openintent-python.md")
# The streams that one key may have open.
STREAMS_PER_KEY_MAX = 1000
# How long the requests of an agent are counted while it is refused.
COUNTED_FOR = 12


class Counter(socketserver.ThreadingTCPServer):
    """Stands between the agent and its server, and counts the requests for streams. While the server is away, it breaks each connection."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), CounterHandler)
        self.target, self.streams = port, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def counted(self, seconds):
        begin = len(self.streams)
        time.sleep(seconds)
        return len(self.streams) - begin


class CounterHandler(socketserver.BaseRequestHandler):
    def handle(self):
        head = self.request.recv(65536)
        if b"/subscribe" in head.split(b"\r\n", 1)[0]:
            self.server.streams.append(time.monotonic())
        try:
            there = socket.create_connection(("127.0.0.1", self.server.target))
        except OSError:
            return  # The connection breaks.
        there.sendall(head)
        threading.Thread(target=pass_on, args=(self.request, there), daemon=True).start()
        pass_on(there, self.request)


def pass_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def document():
    """The code of the document, in one namespace."""
    names = {"__name__": "document"}
    blocks = re.findall(r"^```python\n(.*?)^```", open(DOCUMENT, encoding="utf-8").read(), re.M | re.S)
    assert len(blocks) == 3, len(blocks)
    for block in blocks:
        exec(compile(block, DOCUMENT, "exec"), names)
    return names


def assigned(boss, title):
    intent = boss.create_intent(title, "a test")
    boss.set_status(intent.id, 1, IntentStatus.ACTIVE)
    boss.assign_agent(intent.id, "refund-agent")
    return intent.id


def decision(boss, intent):
    return boss.get_intent(intent).state.data.get("decision")


def main():
    names = document()
    folder = tempfile.mkdtemp()
    mails = Mails()
    server = Server(folder, mails)
    keys = {name: server.key("agent", name) for name in ("refund-agent", "boss")}
    server.start()
    try:
        steps(names, mails, server, keys)
    except BaseException:
        print(open(os.path.join(folder, "log")).read()[-4000:], file=sys.stderr)
        raise
    finally:
        if server.process.poll() is None:
            server.stop(signal.SIGTERM)


def steps(names, mails, server, keys):
    counter = Counter(server.port)
    key = keys["refund-agent"]
    boss = OpenIntentClient(base_url=server.base, api_key=keys["boss"], agent_id="boss")
    completed = []

    class Agent(names["RefundAgent"]):
        async def _on_intent_complete(self, event):
            completed.append(event.data["intent_id"])
            await super()._on_intent_complete(event)

    agent = Agent(f"http://127.0.0.1:{counter.server_address[1]}", key)
    threading.Thread(target=agent.run, daemon=True).start()
    until("the agent's stream", lambda: counter.streams)
    time.sleep(1)

    # The server dies while the question is open, and the person answers by the mail's link once it is back.
    first = assigned(boss, "Refund order 1")
    url = link(mails, server.base, "Refund order 1")
    # The client reads the intent once when it has asked, and gives the assignment up if that read fails. The server dies later.
    time.sleep(1)
    server.stop(signal.SIGKILL)
    away = counter.counted(3)
    assert away <= 3, f"{away} streams were asked for in 3 seconds"
    server.start()
    answer(url, server.base, "approve")
    until("the answer is in the state", lambda: decision(boss, first) == "approve")
    print("assigned, asked, answered by the link, patched; the server was killed in between")

    # The agent hears of what happened while the server or its own connection was away.
    for how in (signal.SIGKILL, signal.SIGTERM):
        until("the agent has a stream", lambda: counter.streams and time.monotonic() - counter.streams[-1] > 3)
        server.stop(how)
        away = counter.counted(COUNTED_FOR)
        assert 1 <= away <= COUNTED_FOR, f"{away} streams were asked for in {COUNTED_FOR} seconds while the server was away"
        server.start()
        title = f"Refund after {how.name}"
        missed = assigned(boss, title)
        answer(link(mails, server.base, title), server.base, "deny")
        until("the answer is in the state", lambda: decision(boss, missed) == "deny")
        print(f"no event lost over {how.name}; {away} requests in {COUNTED_FOR} seconds while the server was away")

    # All streams of the key are taken.
    until("the agent has a stream", lambda: time.monotonic() - counter.streams[-1] > 6)
    taken = []
    try:
        while True:
            request = urllib.request.Request(f"{server.base}/api/v1/agents/refund-agent/subscribe", headers={"X-API-Key": key})
            taken.append(urllib.request.urlopen(request))
            assert len(taken) <= STREAMS_PER_KEY_MAX
    except urllib.error.HTTPError as refused:
        assert refused.code == 429, refused.code
    lonely = Agent(f"http://127.0.0.1:{counter.server_address[1]}", key)
    threading.Thread(target=lonely.run, daemon=True).start()
    full = counter.counted(COUNTED_FOR)
    assert 1 <= full <= COUNTED_FOR, f"{full} streams were asked for in {COUNTED_FOR} seconds while the server was full"
    print(f"{full} requests in {COUNTED_FOR} seconds while the server was full")
    lonely._running = False
    for stream in taken:
        stream.close()

    # A completed intent is told once.
    boss.set_status(first, boss.get_intent(first).version, IntentStatus.COMPLETED)
    until("the agent hears of the completed intent", lambda: completed)
    time.sleep(2)
    told = completed.count(first)
    assert told == 1, f"told {told} times"
    print("a completed intent was told once")


main()
os._exit(0)
