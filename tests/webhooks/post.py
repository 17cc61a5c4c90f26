"""Starts a server with one webhook and one endpoint for wakes, asks it a question, withdraws it, lets a parked intent go on by a signed
event, and writes the posted messages to a file."""

import base64, datetime, http.server, json, os, subprocess, sys, threading, urllib.error, urllib.request

from standardwebhooks.webhooks import Webhook

placet, scratch = sys.argv[1:]
secrets = ["whsec_" + base64.b64encode(os.urandom(32)).decode() for _ in range(2)]
posted = {}
wakes = []
arrived, woken = threading.Event(), threading.Event()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        message = {"headers": {name.lower(): value for name, value in self.headers.items()}, "body": body.decode()}
        is_wake = self.path == "/wakes"
        # The first try of each wake fails: the message comes again, under the same id.
        fails = is_wake and not any(wake["headers"]["webhook-id"] == message["headers"]["webhook-id"] for wake in wakes)
        wakes.append(message) if is_wake else posted.update(message, secrets=secrets)
        self.send_response(500 if fails else 204)
        self.end_headers()
        if len(wakes) == 4:
            woken.set()
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
[[wake.webhook]]
url = "http://127.0.0.1:{receiver.server_address[1]}/wakes"
secret = "{secrets[0]}"
allow_subnets = ["127.0.0.0/8"]
[[events.webhook]]
name = "ci"
secret = "{secrets[1]}"
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
    asked = post(f"api/v1/intents/{intent}/suspend", question)["id"]
    if not arrived.wait(30):
        sys.exit("nothing was posted within 30 seconds")
    post(f"api/v1/suspensions/{asked}/cancel", {})
    parked = post("api/v1/intents", {"title": "Build", "status": "active"})["id"]
    trigger = {"kind": "build.done", "provider": "webhook", "match": {"events": ["build.done"]}}
    post(f"api/v1/intents/{parked}/park", {"reason": "Waiting for the build.", "conditions": {"trigger": trigger}})

    def tell(secret):
        """Tells of the event by a signature that the library makes."""
        body = json.dumps({"type": "build.done", "data": {"build": 7}})
        now = datetime.datetime.now(tz=datetime.timezone.utc)
        headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp())), "content-type": "application/json",
                   "webhook-signature": Webhook(secret).sign("msg_1", now, body)}
        request = urllib.request.Request(base + "api/v1/events", body.encode(), headers)
        try:
            return json.load(urllib.request.urlopen(request, timeout=20))["woken"]
        except urllib.error.HTTPError as refused:
            return refused.code

    # The third message is a copy of the second: it wakes no other work, and tells how many the event has woken in all.
    told = [tell(secrets[0]), tell(secrets[1]), tell(secrets[1])]
    if told != [401, 1, 1]:
        sys.exit(f"a signed event was taken as {told}")
    if not woken.wait(60):
        sys.exit(f"only {len(wakes)} wakes were posted within 60 seconds")
    posted["wakes"] = wakes
finally:
    server.terminate()
    server.wait()
with open(f"{scratch}/posted.json", "w") as file:
    json.dump(posted, file)
