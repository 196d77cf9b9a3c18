"""Sends requests that others' clients have signed to nginx with Weir: as they are, they pass; with one thing changed, or
sent a second time where that is refused, they do not.

    interop.py MODULE WORK     WORK has `node_modules`; scripts/interop.sh prepares both
"""

import base64
import hashlib
import http.server
import json
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import http_message_signatures
import joserfc.jwk
import joserfc.jwt
import jwt
import requests
import requests_http_signature
from http_message_signatures import algorithms

HERE = pathlib.Path(__file__).resolve().parent
BODY = '{"order": 7, "note": "Grüße"}'.encode()
SECRET = "a shared secret of more than thirty-two bytes, for HS256 too"
KEYS = {
    "ed25519": ["-algorithm", "ed25519"],
    "p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
}


class Origin(http.server.BaseHTTPRequestHandler):
    """Answers with the consumer that it is told of."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        text = self.headers.get("X-Consumer-Id", "").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_keys(keys):
    keys.mkdir(exist_ok=True)
    (keys / "secret").write_text(SECRET)
    for name, options in KEYS.items():
        private = keys / f"{name}.pem"
        if not private.exists():
            subprocess.run(["openssl", "genpkey", *options, "-out", private], check=True, stderr=subprocess.DEVNULL)
            subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", keys / f"{name}.pub"], check=True)
    (keys / "pss.pem").write_bytes((keys / "rsa.pem").read_bytes())
    (keys / "pss.pub").write_bytes((keys / "rsa.pub").read_bytes())


def policy(keys):
    def public(name):
        return (keys / f"{name}.pub").read_text()

    signing = {"ed25519": "ed25519", "p256": "ecdsa-p256-sha256", "rsa": "rsa-v1_5-sha256", "pss": "rsa-pss-sha512"}
    tokens = {"ed25519": "EdDSA", "p256": "ES256", "rsa": "RS256", "pss": "PS512"}
    credentials = [
        {"signature": {"id": "hmac", "secret": SECRET}},
        {"jwt": {"id": "t-hmac", "algorithm": "HS256", "secret": SECRET}},
    ]
    credentials += [{"signature": {"id": n, "algorithm": a, "public_key": public(n)}} for n, a in signing.items()]
    credentials += [{"jwt": {"id": f"t-{n}", "algorithm": a, "public_key": public(n)}} for n, a in tokens.items()]
    actions = {
        "/message": {"verify_signature": {"scheme": "message_signatures", "replay": "refuse"}},
        "/bare": {"verify_signature": {"scheme": "message_signatures", "signed": ["@method", "@target-uri"]}},
        "/aws": {"verify_signature": "aws_sigv4"},
        "/s3": {"verify_signature": "aws_s3"},
        "/token": "jwt",
    }
    rules = [
        {"id": path[1:], "when": f'http.request.uri.path eq "{path}" or starts_with(http.request.uri.path, "{path}/")', "action": action}
        for path, action in actions.items()
    ]
    return {"consumers": {"partner": {"credentials": credentials}}, "policies": [{"id": "interop", "rules": rules}]}


def start(module, work, port, origin):
    (work / "policy.json").write_text(json.dumps(policy(work / "keys")))
    (work / "nginx.conf").write_text(
        f"""load_module {module};
daemon off; pid {work}/nginx.pid; error_log {work}/error.log info; worker_processes 2;
events {{ worker_connections 256; }}
http {{
  client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/f;
  uwsgi_temp_path {work}/u; scgi_temp_path {work}/s;
  weir_nonce_zone 4m; weir_policy {work}/policy.json; weir_attack_log {work}/attack.log;
  server {{ listen 127.0.0.1:{port}; weir on; location / {{ proxy_pass http://127.0.0.1:{origin}; }} }}
}}
"""
    )
    nginx = subprocess.Popen(["nginx", "-p", work, "-c", work / "nginx.conf"])
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return nginx
        if nginx.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"nginx does not start; see {work}/error.log")


def signed_by_python(base, keys):
    """Requests of libraries for Python."""

    def wire(client, prepared, changes):
        url, headers, body = prepared.url, dict(prepared.headers), prepared.body or b""
        return dict(client=client, method=prepared.method, url=url, headers=headers, body=body, changes=changes)

    credentials = botocore.credentials.Credentials("hmac", SECRET)
    auth = botocore.auth
    for name, signer, path in [
        ("SigV4Auth", auth.SigV4Auth(credentials, "orders", "eu-west-1"), "/aws/a%20b/../c?x=1&a=%C3%A4&y"),
        ("SigV4QueryAuth", auth.SigV4QueryAuth(credentials, "orders", "eu-west-1", expires=60), "/aws/q?x=1"),
        ("S3SigV4Auth", auth.S3SigV4Auth(credentials, "s3", "eu-west-1"), "/s3/bucket/key%20name"),
    ]:
        is_query = "Query" in name
        request = botocore.awsrequest.AWSRequest(
            "GET" if is_query else "PUT", base + path, data=None if is_query else BODY, headers={"X-Amz-Meta-A": " a  b "}
        )
        request.context["payload_signing_enabled"] = True
        signer.add_auth(request)
        prepared = request.prepare()
        yield wire(f"botocore {name}", prepared, ["target"] if is_query else ["body", "target"])

    class Keys(http_message_signatures.HTTPSignatureKeyResolver):
        def resolve_private_key(self, key_id):
            return SECRET.encode() if key_id == "hmac" else (keys / f"{key_id}.pem").read_bytes()

        def resolve_public_key(self, key_id):
            raise NotImplementedError

    for key_id, algorithm in [
        ("hmac", algorithms.HMAC_SHA256),
        ("ed25519", algorithms.ED25519),
        ("p256", algorithms.ECDSA_P256_SHA256),
        ("rsa", algorithms.RSA_V1_5_SHA256),
        ("pss", algorithms.RSA_PSS_SHA512),
    ]:
        headers = {"Content-Type": "application/json"}
        headers["Content-Digest"] = f"sha-256=:{base64.b64encode(hashlib.sha256(BODY).digest()).decode()}:"
        prepared = requests.Request("POST", f"{base}/message?py=1%2F2", data=BODY, headers=headers).prepare()
        signer = http_message_signatures.HTTPMessageSigner(signature_algorithm=algorithm, key_resolver=Keys())
        covered = ("@method", "@target-uri", "content-digest", "content-type")
        signer.sign(
            prepared, key_id=key_id, covered_component_ids=covered, nonce=str(time.time_ns()), use_existing_digest=True
        )
        yield wire(f"PyPI http-message-signatures {key_id}", prepared, ["body", "target"])

    signature = requests_http_signature.HTTPSignatureAuth(
        key=SECRET.encode(), key_id="hmac", signature_algorithm=algorithms.HMAC_SHA256
    )
    prepared = requests.Request("GET", f"{base}/bare", auth=signature).prepare()
    yield wire("PyPI requests-http-signature", prepared, ["target"])

    def bearer(client, token):
        headers = {"Authorization": f"Bearer {token}"}
        return dict(client=client, method="POST", url=f"{base}/token", headers=headers, body=BODY, changes=["token"])

    def claims():
        return {"sub": "partner", "exp": int(time.time()) + 120, "aud": ["a", "b"]}

    tokens = [("hmac", "HS256"), ("ed25519", "EdDSA"), ("p256", "ES256"), ("rsa", "RS256"), ("pss", "PS512")]
    for name, algorithm in tokens:
        key = SECRET if name == "hmac" else (keys / f"{name}.pem").read_text()
        headers = {"kid": f"t-{name}"}
        yield bearer(f"PyJWT {algorithm}", jwt.encode(claims(), key, algorithm=algorithm, headers=headers))
        kind = {"hmac": "oct", "ed25519": "OKP", "p256": "EC"}.get(name, "RSA")
        imported = joserfc.jwk.import_key(key, kind)
        protected = {"alg": algorithm, **headers}
        yield bearer(f"joserfc {algorithm}", joserfc.jwt.encode(protected, claims(), imported, algorithms=[algorithm]))


def signed_by_node(base, keys, work):
    run = ["node", work / "clients.mjs", base, keys]
    lines = subprocess.run(run, check=True, capture_output=True, text=True, cwd=work).stdout
    for line in lines.splitlines():
        request = json.loads(line)
        request["body"] = request["body"].encode()
        yield request


def send(request):
    """Sends it byte for byte as it was signed."""
    host, path = request["url"].split("/", 3)[2:]
    headers = {name: value.decode() if isinstance(value, bytes) else str(value) for name, value in request["headers"].items()}
    headers.setdefault("Host", host)
    headers.pop("Content-Length", None)
    lines = [f"{request['method']} /{path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"Content-Length: {len(request['body'])}", "Connection: close", "", ""]
    address, port = host.split(":")
    with socket.create_connection((address, int(port)), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode() + request["body"])
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def changed(request, what):
    other = dict(request)
    if what == "body":
        other["body"] = request["body"].replace(b"7", b"8", 1)
    elif what == "target":
        other["url"] = request["url"] + ("&z=1" if "?" in request["url"] else "?z=1")
    else:
        headers = dict(request["headers"])
        name = next(name for name in headers if name.lower() == "authorization")
        head, claims, signature = headers[name].split(".")
        text = base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)).replace(b"partner", b"another")
        headers[name] = ".".join([head, base64.urlsafe_b64encode(text).decode().rstrip("="), signature])
        other["headers"] = headers
    return other


def main():
    module, work = map(lambda name: pathlib.Path(name).resolve(), sys.argv[1:])
    make_keys(work / "keys")
    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    port = free_port()
    nginx = start(module, work, port, origin.server_address[1])
    base = f"http://127.0.0.1:{port}"
    # After a cold start, what was signed before it is refused, and `created` is in whole seconds.
    time.sleep(1.1)
    passed, failed = 0, []
    try:
        for request in [*signed_by_python(base, work / "keys"), *signed_by_node(base, work / "keys", work)]:
            checks = [("changed " + what, changed(request, what), (401, None)) for what in request["changes"]]
            checks.append(("as signed", request, (200, "partner")))
            if "/message" in request["url"]:
                checks.append(("again", request, (401, None)))
            for what, sent, (status, consumer) in checks:
                found = send(sent)
                if found[0] == status and consumer in (None, found[1]):
                    passed += 1
                else:
                    failed.append(f"{request['client']}, {what}: expected {status}, found {found[0]} {found[1][:80]!r}")
            print(f"{request['client']}: {', '.join(f'{what} {want[0]}' for what, _, want in checks)}")
    finally:
        nginx.send_signal(signal.SIGTERM)
        nginx.wait()
    for line in failed:
        print(f"FAILED {line}")
    print(f"interop: {passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
