"""What checks share that kill a server and let people answer by mail: the server, a mail server, and the way from a mail to an answer.

PLACET is the path of the server's program. All other variables of the server are set here.
"""

import email
import html
import http.client
import os
import re
import socket
import socketserver
import subprocess
import threading
import time
import urllib.parse
import urllib.request

PLACET = os.environ["PLACET"]
PATIENCE = 60


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def until(what, holds):
    """Waits for a result that counts as true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"this did not happen in {PATIENCE} seconds: {what}")


class Mails(socketserver.ThreadingTCPServer):
    """A mail server that keeps what it is sent."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), MailHandler)
        self.received = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class MailHandler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            self.talk()
        except ConnectionError:
            pass  # The server was killed.

    def talk(self):
        self.wfile.write(b"220 mails\r\n")
        for line in self.rfile:
            verb = line.strip().upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = []
                while (part := self.rfile.readline()) != b".\r\n":
                    if not part:
                        return  # A mail that was cut off is none.
                    lines.append(part[1:] if part.startswith(b"..") else part)
                self.server.received.append(email.message_from_bytes(b"".join(lines)))
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                return


class Server:
    def __init__(self, folder, mails, settings=""):
        self.settings = os.path.join(folder, "placet.toml")
        with open(self.settings, "w") as file:
            file.write(settings)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.log = open(os.path.join(folder, "log"), "ab")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("PLACET", "OTEL_"))} | {
            "PLACET_DATABASE_URL": f"sqlite://{folder}/placet.db",
            "PLACET_LISTEN": f"127.0.0.1:{self.port}",
            "PLACET_OPERATORS": "ops@example.com",
            "PLACET_NOTIFY_ALLOW": "*@example.com",
            "PLACET_SMTP_URL": f"smtp://127.0.0.1:{mails.server_address[1]}",
            "PLACET_MAIL_FROM": "Placet <placet@example.com>",
        }

    def start(self):
        self.process = subprocess.Popen([PLACET, "serve", "--config", self.settings], env=self.environment, stdout=self.log, stderr=self.log)
        until("the server answers", self.answers)

    def answers(self):
        assert self.process.poll() is None, "the server has ended"
        try:
            return urllib.request.urlopen(f"{self.base}/healthz").status == 200
        except OSError:
            return False

    def stop(self, how):
        self.process.send_signal(how)
        self.process.wait()

    def key(self, role, name):
        made = subprocess.run([PLACET, "keys", "create", "--role", role, "--name", name, "--json"], env=self.environment, check=True, capture_output=True)
        return re.search(rb'"key": *"([^"]+)"', made.stdout)[1].decode()


def link(mails, base, title):
    """The link in the mail about this intent; a server that was killed may have sent it twice."""
    texts = lambda: (part.get_payload(decode=True).decode() for mail in mails.received for part in mail.walk() if part.get_content_type() == "text/plain")
    text = until(f"a mail about {title}", lambda: next((text for text in texts() if title in text), None))
    return re.search(re.escape(base) + r"/\S+", text)[0]


def answer(url, base, value):
    """Opens the mail's link and sends the form, as a browser does."""
    page = urllib.request.urlopen(url)
    cookie = (page.headers["set-cookie"] or "").split(";")[0]
    nonce = html.unescape(re.search(r'name="nonce" value="([^"]+)"', page.read().decode())[1])
    form = urllib.parse.urlencode({"nonce": nonce, "value": value}).encode()
    headers = {"Origin": base, "Sec-Fetch-Site": "same-origin", "Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request("POST", parts.path, form, headers)
    assert connection.getresponse().status == 303
