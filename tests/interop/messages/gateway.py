"""`weir up` with its demo site, which all clients here talk to, and what the clients need beside it."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

# A client that comes back after a reload waits up to 5.5 s as it is told to, and up to a second more.
PATIENCE = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gateway:
    """A gateway on ports of its own; `port` has HTTP/1.1, `h2_port` HTTP/2 without TLS."""

    def __init__(self, module, weir, work):
        self.port, self.h2_port = free_port(), free_port()
        self.dir = pathlib.Path(work)
        environment = {**os.environ, "WEIR_MODULE": module, "WEIR_RUNTIME": str(self.dir / "runtime"), "NO_COLOR": "1"}
        command = [weir, "up", "--port", str(self.port), "--dir", str(self.dir)]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("weir: ready"):
                break
        else:
            raise SystemExit("weir up has not started")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.master = int((self.dir / "nginx.pid").read_text())
        configuration = self.dir / "nginx.conf"
        listen = f"listen 127.0.0.1:{self.port};"
        more = f"{listen}\n        listen 127.0.0.1:{self.h2_port} http2;"
        configuration.write_text(configuration.read_text().replace(listen, more))
        self.reload()
        history = "{history: {count: 10000, age: 1h}}"
        # The policies of the demo look at bodies, so that its clients publish by POST alone.
        frames = "{messages: {uninspected_frames: true}}"
        for resource, patch in (("topics/demo", history), ("routes/live", frames)):
            subprocess.run([weir, "patch", resource, patch], env=environment, check=True, stdout=subprocess.DEVNULL)

    def workers(self):
        return set(pathlib.Path(f"/proc/{self.master}/task/{self.master}/children").read_text().split())

    def reload(self):
        """Returns when new workers take connections; old ones may still have some."""
        before = self.workers()
        os.kill(self.master, signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE
        while len(self.workers() - before) < 2 or not self.answers():
            assert time.monotonic() < deadline, "nginx does not reload"
            time.sleep(0.05)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.h2_port), 1).close()
            return True
        except OSError:
            return False

    def publish(self, topic, data):
        """Over a connection of its own, so that none is closed by a reload."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("POST", f"/live/{topic}", data, {"User-Agent": "interop", "Connection": "close"})
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200, f"{response.status} {body}"
        return json.loads(body)["id"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
