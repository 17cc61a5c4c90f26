"""Fills a database with the older program and uses it with the newer one: OLDER NEWER SCRATCH [--keep NAME]."""

import http.client
import json
import os
import re
import signal
import socket
import socketserver
import sqlite3
import subprocess
import sys
import threading
import time

older, newer, scratch = sys.argv[1:4]
keep = sys.argv[5] if sys.argv[4:5] == ["--keep"] else None
database = os.path.join(scratch, "placet.db")
mails = []


class Session(socketserver.StreamRequestHandler):
    """Accepts every mail and keeps it."""

    def handle(self):
        def say(line):
            self.wfile.write(line.encode() + b"\r\n")

        say("220 sink")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                say("354 go on")
                body = []
                while (line := self.rfile.readline()) and line != b".\r\n":
                    body.append(line)
                mails.append(b"".join(body).decode().replace("=\r\n", "").replace("=3D", "="))
                say("250 taken")
            elif word == b"QUIT":
                say("221 bye")
                return
            else:
                say("250 ok")


class Sink(socketserver.ThreadingTCPServer):
    daemon_threads = True


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


sink = Sink(("127.0.0.1", 0), Session)
threading.Thread(target=sink.serve_forever, daemon=True).start()
port = free_port()
base = f"http://127.0.0.1:{port}"
environment = {
    "PATH": os.environ["PATH"],
    "PLACET_DATABASE_URL": f"sqlite://{database}",
    "PLACET_LISTEN": f"127.0.0.1:{port}",
    "PLACET_SMTP_URL": f"smtp://127.0.0.1:{sink.server_address[1]}",
    "PLACET_MAIL_FROM": "Placet <placet@example.com>",
    "PLACET_OPERATORS": "ops@example.com",
    "PLACET_NOTIFY_ALLOW": "*@example.com",
}


def run(program, *arguments):
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=60)


def key(program, role):
    made = run(program, "keys", "create", "--json", "--role", role, "--name", role)
    assert made.returncode == 0, made
    return json.loads(made.stdout.splitlines()[-1])["key"]


class Server:
    """A running program, which is stopped in order at the end."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for line in self.process.stdout:
            if b"Placet listens on" in line:
                return self
        raise SystemExit("the program did not start")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(40) == 0


def call(method, path, api_key=None, body=None, headers=()):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    named = dict(headers) | {"content-type": "application/json"}
    if api_key:
        named["x-api-key"] = api_key
    connection.request(method, path, json.dumps(body) if body is not None else None, named)
    response = connection.getresponse()
    text = response.read().decode()
    return response.status, json.loads(text) if text.startswith(("{", "[")) else text


def ok(*arguments):
    status, body = call(*arguments)
    assert status == 200, (status, body, arguments)
    return body


def until(condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise SystemExit("waited in vain")


def ask(agent, question, **more):
    intent = ok("POST", "/api/v1/intents", agent, {"title": question, "status": "active"})["id"]
    choices = [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}]
    asked = ok("POST", f"/api/v1/intents/{intent}/suspend", agent, {"question": question, "choices": choices} | more)
    return intent, asked["id"]


def fill():
    """Fills the database with the older program: three keys, an open, an answered and an expired question, and their mails."""
    facts = {role: key(older, role) for role in ("admin", "agent", "operator")}
    with Server(older):
        agent, operator = facts["agent"], facts["operator"]
        facts["open_intent"], facts["open"] = ask(agent, "Refund the open order?")
        until(lambda: len(mails) == 1)
        facts["link"] = re.search(re.escape(base) + r"(/[a-z]/[A-Za-z0-9_.~-]+)", mails[0]).group(1)
        facts["answered_intent"], facts["answered"] = ask(agent, "Refund the answered order?", timeout_seconds=3600)
        answer = {"suspension_id": facts["answered"], "value": "approve"}
        ok("POST", f"/api/v1/intents/{facts['answered_intent']}/suspend/respond", operator, answer)
        facts["silent_intent"], facts["silent"] = ask(agent, "Refund the silent order?", timeout_seconds=1, fallback_policy="fail")
        until(lambda: ok("GET", f"/api/v1/intents/{facts['silent_intent']}", agent)["status"] == "abandoned")
        until(lambda: len(mails) >= 2)
    return facts


def use(facts):
    """Uses the older program's database with the newer program: reads, the page of a link, an answer and a new question."""
    agent, operator = facts["agent"], facts["operator"]
    with Server(newer):
        assert len(ok("GET", "/api/v1/intents?limit=100", agent)["intents"]) == 3
        assert ok("GET", f"/api/v1/suspensions/{facts['answered']}", agent)["response"] == "approve"
        assert ok("GET", f"/api/v1/suspensions/{facts['silent']}", agent)["resolution"] == "expired"
        deliveries = ok("GET", f"/api/v1/suspensions/{facts['open']}/deliveries", agent)["deliveries"]
        assert [delivery["state"] for delivery in deliveries] == ["sent"], deliveries
        status, page = call("GET", facts["link"])
        assert status == 200 and "Refund the open order?" in page, (status, page)
        answer = {"suspension_id": facts["open"], "value": "deny"}
        ok("POST", f"/api/v1/intents/{facts['open_intent']}/suspend/respond", operator, answer)
        assert ok("GET", f"/api/v1/suspensions/{facts['open']}", agent)["response"] == "deny"
        ask(agent, "Refund the new order?", timeout_seconds=3600)
        until(lambda: "Refund the new order?" in mails[-1])


facts = fill()
if keep:
    with sqlite3.connect(database) as connection, open(keep + ".sql", "w") as dump:
        dump.writelines(line + "\n" for line in connection.iterdump())
    with open(keep + ".json", "w") as kept:
        json.dump(facts, kept, indent=1)
        kept.write("\n")
looked = run(newer, "doctor")
assert "was written by an older placet" in looked.stdout, looked.stdout
use(facts)
looked = run(newer, "doctor")
assert "is whole and of this version" in looked.stdout, looked.stdout
refused = run(older, "serve")
assert refused.returncode == 1 and "newer placet" in refused.stderr, refused
print("The newer program goes on where the older one ended, and the older one refuses what the newer one left.")
