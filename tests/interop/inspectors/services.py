"""The processes of the check: others' servers with their configuration, nginx with Weir, and an origin that tells what it got."""

import base64
import hashlib
import http.server
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
CLIENT, SECRET = "weir", "a-secret-of-the-client"
BASIC = ("ada", "lovelace")
KEY = "the-key-of-a-bouncer"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Origin(http.server.BaseHTTPRequestHandler):
    """Answers with the request as it got it, as JSON."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fields = [[name.lower(), value] for name, value in self.headers.items()]
        text = json.dumps({"method": self.command, "path": self.path, "headers": fields, "body": body.decode()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PURGE = answer

    def log_message(self, *_):
        pass

    @classmethod
    def start(cls):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), cls)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_address[1]


class Service:
    """A process that listens on a port, and can be killed, stopped and started again."""

    def __init__(self, name, port, command, work, seconds=60):
        self.name, self.port, self.command, self.seconds = name, port, list(map(str, command)), seconds
        self.log = work / f"{name}.log"
        self.log.write_text("")
        self.process = None
        self.start()

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until = time.monotonic() + self.seconds
        while not listens(self.port):
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                sys.exit(f"{self.name} does not start; see {self.log}")
            time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        while ") T " not in pathlib.Path(f"/proc/{self.process.pid}/stat").read_text():
            time.sleep(0.01)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


def provider(tools, work):
    port = free_port()
    return Service("provider", port, [tools / "provider", f"127.0.0.1:{port}", CLIENT, SECRET], work)


def oauth2_proxy(tools, work, provider_port, site_port):
    port = free_port()
    digest = base64.b64encode(hashlib.sha1(BASIC[1].encode()).digest()).decode()
    (work / "htpasswd").write_text(f"{BASIC[0]}:{{SHA}}{digest}\n")
    options = {
        "http-address": f"127.0.0.1:{port}",
        "provider": "oidc",
        "oidc-issuer-url": f"http://127.0.0.1:{provider_port}/oidc",
        "client-id": CLIENT,
        "client-secret": SECRET,
        "redirect-url": f"http://127.0.0.1:{site_port}/oauth2/callback",
        "cookie-secret": "0123456789abcdef0123456789abcdef",
        "cookie-secure": "false",
        "email-domain": "*",
        "htpasswd-file": work / "htpasswd",
        "set-xauthrequest": "true",
        "reverse-proxy": "true",
        "skip-provider-button": "true",
        "upstream": "static://202",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    return Service("oauth2-proxy", port, [tools / "oauth2-proxy", *flags], work)


def ext_authz(tools, work):
    port, grpc = free_port(), free_port()
    service = Service("ext_authz", port, [tools / "extauthz", "-http", port, "-grpc", grpc], work)
    service.grpc = grpc
    return service


def crowdsec(tools, work):
    """CrowdSec with nothing but its local API and AppSec."""
    home, api, port = work / "crowdsec", free_port(), free_port()
    shutil.rmtree(home, ignore_errors=True)
    for name in ["appsec-rules", "appsec-configs", "hub", "data", "acquis.d", "notifications", "plugins", "patterns", "log"]:
        (home / name).mkdir(parents=True)
    for name in ["interop", "captcha", "throttle"]:
        shutil.copy(HERE / f"crowdsec/{name}.yaml", home / "appsec-rules")
    shutil.copy(HERE / "crowdsec/appsec.yaml", home / "appsec-configs")
    (home / "hub/.index.json").write_text("{}")

    def write(name, document):
        (home / name).write_text(json.dumps(document))  # YAML, too

    write("simulation.yaml", {"simulation": False})
    write("profiles.yaml", {"name": "none", "filters": ["false"], "on_success": "break"})
    write("console.yaml", {})
    write("acquis.d/appsec.yaml", {
        "source": "appsec",
        "listen_addr": f"127.0.0.1:{port}",
        "appsec_config": "weir/interop",
        "labels": {"type": "appsec"},
    })
    config = {
        "common": {"log_media": "stdout", "log_level": "info"},
        "config_paths": {
            "config_dir": f"{home}/",
            "data_dir": f"{home}/data/",
            "simulation_path": f"{home}/simulation.yaml",
            "hub_dir": f"{home}/hub/",
            "index_path": f"{home}/hub/.index.json",
            "notification_dir": f"{home}/notifications/",
            "plugin_dir": f"{home}/plugins/",
            "pattern_dir": f"{home}/patterns/",
        },
        "crowdsec_service": {"acquisition_dir": f"{home}/acquis.d", "parser_routines": 1},
        "db_config": {"type": "sqlite", "db_path": f"{home}/data/crowdsec.db", "use_wal": True},
        "api": {
            "client": {"credentials_path": f"{home}/credentials.yaml"},
            "server": {
                "listen_uri": f"127.0.0.1:{api}",
                "profiles_path": f"{home}/profiles.yaml",
                "console_path": f"{home}/console.yaml",
            },
        },
        "prometheus": {"enabled": False},
    }
    write("config.yaml", config)
    (home / "credentials.yaml").touch()
    cscli = [tools / "crowdsec-cli", "-c", home / "config.yaml"]
    for command in [
        ["machines", "add", "interop", "--auto", "--force", "-f", home / "credentials.yaml", "-u", f"http://127.0.0.1:{api}"],
        ["bouncers", "add", "weir", "--key", KEY],
    ]:
        done = subprocess.run([*cscli, *command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"cscli {' '.join(map(str, command[:2]))}: {done.stderr}")
    return Service("crowdsec", port, [tools / "crowdsec", "-c", home / "config.yaml"], work)


def nginx(module, work, port, policy, origin, login):
    """nginx in front of the origin; what the login needs of oauth2-proxy is passed on to it."""
    (work / "policy.json").write_text(json.dumps(policy))
    for name in ["error.log", "attack.log"]:
        (work / name).unlink(missing_ok=True)
    (work / "nginx.conf").write_text(
        f"""load_module {module};
daemon off; pid {work}/nginx.pid; error_log {work}/error.log notice; worker_processes 2;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/f;
  uwsgi_temp_path {work}/u; scgi_temp_path {work}/s;
  weir_policy {work}/policy.json; weir_attack_log {work}/attack.log;
  server {{
    listen 127.0.0.1:{port} reuseport; weir on;
    location / {{ proxy_pass http://127.0.0.1:{origin}; }}
    location /oauth2/ {{ weir off; proxy_pass http://127.0.0.1:{login}; proxy_set_header X-Forwarded-Uri $request_uri; }}
  }}
}}
"""
    )
    return Service("nginx", port, ["nginx", "-p", work, "-c", work / "nginx.conf"], work)
