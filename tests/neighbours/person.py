"""Plays everything but the agent: a server that dies and comes back, a mail server, and the person who answers by the mailed link.

PLACET is the path of the server's program, CLIENT that of the agent, and PYTHONPATH the folder of `mailed.py`. The agent says on its output
what it needs next.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile

from mailed import Mails, Server, answer, link


def play(server, mails, client):
    for line in client.stdout:
        if re.fullmatch(r"kill\n", line):
            server.stop(signal.SIGKILL)
            server.start()
            go_on(client)
        elif said := re.fullmatch(r"(press|missed) (\S+) (.+)\n", line):
            answer(link(mails, server.base, said[3]), server.base, said[2])
            if said[1] == "missed":
                go_on(client)
        else:
            print(line, end="", flush=True)
    if client.wait() != 0:
        sys.exit("the client failed")


def go_on(client):
    client.stdin.write("\n")
    client.stdin.flush()


def main():
    with tempfile.TemporaryDirectory() as folder:
        mails = Mails()
        server = Server(folder, mails)
        # Five messages of one agent to one person leave at once, and the next one a minute later. So each binding has an agent of its own.
        keys = {binding: server.key("agent", f"neighbour-{number}") for number, binding in enumerate(["JSONRPC", "HTTP+JSON"])}
        server.start()
        try:
            for binding, key in keys.items():
                arguments = [os.environ["CLIENT"], server.base, key, binding]
                with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
                    try:
                        play(server, mails, client)
                    finally:
                        client.kill()
        except BaseException:
            print(open(os.path.join(folder, "log")).read()[-4000:], file=sys.stderr)
            raise
        finally:
            if server.process.poll() is None:
                server.stop(signal.SIGTERM)


main()
