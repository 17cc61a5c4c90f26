"""Starts a server with one webhook, asks it a question, and writes the posted message to a file."""

import base64, http.server, json, os, subprocess, sys, threading, urllib.request

placet, scratch = sys.argv[1:]
secrets = ["whsec_" + base64.b64encode(os.urandom(32)).decode() for _ in range(2)]
posted = {}
arrived = threading.Event()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        posted.update(headers={name.lower(): value for name, value in self.headers.items()}, body=body.decode(), secrets=secrets)
        self.send_response(204)
        self.end_headers()
        arrived.set()

    def log_message(self, *_):
        pass


receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
config = f"{scratch}/placet.toml"
with open(config, "w") as file:
    file.write(f"""
listen = "127.0.0.1:0"
database_url = "sqlite://{scratch}/placet.db"
operators = ["ops@example.com"]
[channels]
default = ["hook"]
[[channels.webhook]]
name = "hook"
url = "http://127.0.0.1:{receiver.server_address[1]}/"
secret = "{secrets[0]}"
previous_secret = "{secrets[1]}"
allow_subnets = ["127.0.0.0/8"]
""")
environment = dict(os.environ, PLACET_DATABASE_URL=f"sqlite://{scratch}/placet.db")
made = subprocess.run([placet, "keys", "create", "--role", "agent", "--name", "verify", "--json"],
                      env=environment, check=True, capture_output=True, text=True)
key = json.loads(made.stdout.splitlines()[-1])["key"]
server = subprocess.Popen([placet, "serve", "--dev", "--config", config], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
try:
    base = next(line.split()[-1] for line in server.stdout if line.startswith("Placet listens on "))

    def post(path, body):
        headers = {"x-api-key": key, "content-type": "application/json"}
        request = urllib.request.Request(base + path, json.dumps(body).encode(), headers)
        return json.load(urllib.request.urlopen(request, timeout=20))

    intent = post("api/v1/intents", {"title": "Verify", "status": "active"})["id"]
    question = {"question": "Is it us?", "response_type": "confirm", "timeout_seconds": 60}
    post(f"api/v1/intents/{intent}/suspend", question)
    if not arrived.wait(30):
        sys.exit("nothing was posted within 30 seconds")
finally:
    server.terminate()
    server.wait()
with open(f"{scratch}/posted.json", "w") as file:
    json.dump(posted, file)
