"""Plays everything but the agent: a server that dies and comes back, a mail server, the person who answers by the mailed link, and an endpoint.

PLACET is the path of the server's program, CLIENT that of the agent, and PYTHONPATH the folder of `mailed.py` and `endpoint.py`. The agent
says on its output what it needs next.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from endpoint import Endpoint
from mailed import PATIENCE, Mails, Server, answer, link

PUSH = '[agent_to_agent.push]\nallow = ["127.0.0.1"]\nallow_subnets = ["127.0.0.0/8"]\n'


def play(server, mails, endpoint, client):
    for line in client.stdout:
        if re.fullmatch(r"kill\n", line):
            server.stop(signal.SIGKILL)
            server.start()
            go_on(client)
        elif said := re.fullmatch(r"pushed (\S+) (\S+)\n", line):
            headers, item = endpoint.told.get(timeout=PATIENCE)
            found = (headers["X-A2A-Notification-Token"], headers["Authorization"])
            assert found == (said[1], f"Bearer {said[2]}"), headers
            go_on(client, json.dumps(item))
        elif said := re.fullmatch(r"(press|missed) (\S+) (.+)\n", line):
            answer(link(mails, server.base, said[3]), server.base, said[2])
            if said[1] == "missed":
                go_on(client)
        else:
            print(line, end="", flush=True)
    if client.wait() != 0:
        sys.exit("the client failed")


def go_on(client, line=""):
    client.stdin.write(f"{line}\n")
    client.stdin.flush()


def main():
    with tempfile.TemporaryDirectory() as folder:
        mails = Mails()
        server = Server(folder, mails, PUSH)
        endpoint = Endpoint()
        # Five messages of one agent to one person leave at once, and the next one a minute later. So each binding has an agent of its own.
        keys = {binding: server.key("agent", f"neighbour-{number}") for number, binding in enumerate(["JSONRPC", "HTTP+JSON"])}
        server.start()
        try:
            for binding, key in keys.items():
                arguments = [os.environ["CLIENT"], server.base, key, binding, endpoint.url]
                with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
                    try:
                        play(server, mails, endpoint, client)
                    finally:
                        client.kill()
        except BaseException:
            print(open(os.path.join(folder, "log")).read()[-4000:], file=sys.stderr)
            raise
        finally:
            if server.process.poll() is None:
                server.stop(signal.SIGTERM)


main()
