"""An endpoint to which a server pushes, for the checks with clients of A2A."""

import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint(ThreadingHTTPServer):
    """An endpoint that keeps what it is told: headers and body, in `told`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.told = queue.Queue()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/told"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.told.put((self.headers, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass
