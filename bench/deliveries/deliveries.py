"""Sends every attack in every delivery through nginx with Weir, and to real backends to see which of them read it.

    python3 bench/deliveries/deliveries.py --module FILE --work DIR [--crs4 DIR] [--only TEXT] [--output FILE]

A cell is a delivery with an attack, a set of rules, and `weir_bounds`. It counts if the same rules refuse the attack in the
plain delivery (or in all plain deliveries) of the place. A cell that passes although a backend reads the attack is a hole, if the rules also refuse the
plain delivery of what the backend reads: that may be more than the attack ("x" and a line end before it, for example),
which is then a matter of the rules. `scripts/deliveries.sh` prepares the backends and runs this.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import corpus
from corpus import ATTACKS, BODY_LIMIT, HARMLESS, Http2

HERE = Path(__file__).resolve().parent
PASSED = "passed"

# Holes that are limits of the rules: CRS 3 looks for paths in the Cookie header as it is sent, not in the cookies.
KNOWN = {("crs3", "cookie", r"..\..\..\windows\win.ini")}

# Bytes of a request from which backends are asked once.
LONG = 16 << 10


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def packed(length, prefix, first=0):
    """An integer of HPACK (RFC 7541, section 5.1)."""
    most = (1 << prefix) - 1
    if length < most:
        return bytes([first | length])
    out, length = bytearray([first | most]), length - most
    while length >= 128:
        out.append(length & 127 | 128)
        length >>= 7
    return bytes(out) + bytes([length])


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def http2_bytes(request):
    literal = lambda text: packed(len(text), 7) + text
    block = b"".join(b"\0" + literal(corpus.octets(name)) + literal(corpus.octets(value)) for name, value in request.fields)
    frames = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", frame(4, 0, 0, b"")]
    frames.append(frame(1, 4 if request.data else 5, 1, block))
    last = len(request.data) - 1
    frames += [frame(0, 1 if at == last else 0, 1, data) for at, data in enumerate(request.data)]
    return b"".join(frames)


class Stream:
    def __init__(self, port, wire):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.wire, self.have = wire, b""
        try:
            self.socket.sendall(wire)
        except OSError:
            pass  # nginx may answer and close before it has read everything

    def more(self):
        try:
            piece = self.socket.recv(65536)
        except OSError:
            piece = b""
        self.have += piece
        return bool(piece)

    def take(self, length):
        while len(self.have) < length and self.more():
            pass
        taken, self.have = self.have[:length], self.have[length:]
        return taken

    def to(self, mark):
        while mark not in self.have and self.more():
            pass
        head, found, rest = self.have.partition(mark)
        self.have = rest if found else b""
        return head

    def rest(self):
        while self.more():
            pass
        return self.take(len(self.have))


def answer1(stream, method):
    """Status and body of the next answer; (0, b"") if the connection ends."""
    head = stream.to(b"\r\n\r\n").split(b"\r\n")
    if not head[0].startswith(b"HTTP/1."):
        # HTTP/0.9 has no status: nginx names that of an error in the title of the page.
        body = b"\r\n\r\n".join(head) + stream.rest()
        title = re.search(rb"<title>(\d{3}) ", body)
        return int(title[1]) if title else 204, body
    status = int(head[0].split()[1])
    if status == 100:
        return answer1(stream, method)
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in head[1:])}
    if method == b"HEAD" or status in (204, 304):
        return status, b""
    if b"content-length" in fields:
        return status, stream.take(int(fields[b"content-length"]))
    if fields.get(b"transfer-encoding") == b"chunked":
        body = b""
        while size := int(stream.to(b"\r\n") or b"0", 16):
            body += stream.take(size)
            stream.take(2)
        stream.take(2)
        return status, body
    return status, stream.rest()


def answer2(stream):
    """As `answer1` for HTTP/2: nginx writes the status first, indexed or as three plain digits."""
    indexed = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
    status, body = 0, b""
    while head := stream.take(9):
        if len(head) < 9:
            break
        payload = stream.take(int.from_bytes(head[:3], "big"))
        kind, flags = head[3], head[4]
        if kind == 1:
            while payload[0] & 0xE0 == 0x20:
                payload = payload[1:]  # size of the table
            status = indexed.get(payload[0] & 127) if payload[0] & 128 else int(payload[2:5])
        elif kind == 0:
            body += payload
        elif kind in (3, 7):
            return status or 400, body
        if kind in (0, 1) and flags & 1:
            break
    return status, body


def send(port, delivery, attack):
    """Status and body of the answer that counts."""
    wire = delivery.build(attack)
    if isinstance(wire, Http2):
        return answer2(Stream(port, http2_bytes(wire)))
    stream = Stream(port, wire)
    method = wire.lstrip().split(b" ", 1)[0]
    found = 0, b""
    try:
        for _ in range(delivery.answer + 1):
            found = answer1(stream, method)
    except ValueError:
        pass
    finally:
        stream.socket.close()
    return found


def expressions():
    """Rules that look for the very attacks, so that only what rules see of a request counts."""
    regex = "(" + "|".join("".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in attack) for attack in ATTACKS) + ")"
    fields = [
        *["http.request.uri.path", "http.request.uri.args.values[*]", "http.request.uri.args.names[*]"],
        *["http.request.headers.values[*]", "http.request.cookies.decoded[*]", "http.request.cookies.names[*]"],
        *["http.request.body.form.values[*]", "http.request.body.form.names[*]"],
        *["http.request.body.multipart.values[*]", "http.request.body.multipart.names[*]"],
        "http.request.body.multipart.filenames[*]",
        *["http.request.body.json.values[*]", "http.request.body.json.names[*]", "http.request.body.xml[*]"],
    ]
    rules = []
    for number, field in enumerate(fields):
        holds = f"{field} matches r\"{regex}\"" if not field.endswith("]") else f"any({field} matches r\"{regex}\")"
        rules.append({"id": f"r{number}", "when": holds, "action": "block"})
    return {"id": "expressions", "inflate": True, "rules": rules}


def start_backends(work, names):
    ports, running = {}, []
    for name in names:
        port = ports[name] = free_port()
        environment = os.environ
        directory = HERE / "backends"
        if name == "flask":
            command = ["/usr/bin/python3", str(directory / "flask_app.py"), str(port)]
        elif name == "go":
            command = [str(work / "go-backend"), str(port)]
        elif name == "express":
            command = ["node", str(work / "express" / "express.js"), str(port)]
        else:
            command = ["php", "-q", "-S", f"127.0.0.1:{port}", str(directory / "index.php")]
            environment = {**os.environ, "PHP_CLI_SERVER_WORKERS": "2"}
        log = open(work / f"{name}.log", "w")
        running.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True))
    for name, port in ports.items():
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise SystemExit(f"deliveries: {name} does not start, see {work / (name + '.log')}")
    return ports, running


def start_nginx(work, module, policies, backends):
    """Servers: one for each backend without Weir, one for each set of rules and each of `weir_bounds`."""
    run = work / "nginx"
    for name in ("logs", "temp"):
        (run / name).mkdir(parents=True, exist_ok=True)
    (run / "policy.yaml").write_text(json.dumps({"policies": policies}))
    ports, servers = {}, []
    names = f"server_name {corpus.HOST};"
    common = "listen 127.0.0.1:{0}; listen 127.0.0.1:{1} http2;"

    def listen(key):
        ports[key] = (free_port(), free_port())
        return common.format(*ports[key])

    for name, port in backends.items():
        servers.append(
            f"server {{ {listen(name)} {names} location / {{ proxy_pass http://127.0.0.1:{port}; "
            "proxy_http_version 1.1; proxy_set_header Host $host; } }"
        )
    for policy in policies:
        for bounds in ("open", "closed"):
            servers.append(
                f"server {{ {listen((policy['id'], bounds))} {names} weir on; weir_apply {policy['id']}; "
                f"weir_bounds {bounds}; location / {{ return 204; }} }}"
            )
    temp = "".join(
        f"{kind}_temp_path {run}/temp/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (run / "nginx.conf").write_text(
        f"load_module {module};\nworker_processes 2;\npid {run}/nginx.pid;\nerror_log {run}/logs/error.log info;\n"
        f"events {{ worker_connections 4096; }}\nhttp {{\naccess_log off;\n{temp}"
        f"weir_policy {run}/policy.yaml;\nweir_attack_log off;\nweir_runtime {run}/weir;\nweir_body_limit {BODY_LIMIT};\n"
        "client_max_body_size 16m;\nlarge_client_header_buffers 8 256k;\n\nserver_tokens off;\n"
        + "\n".join(servers)
        + "\n}\n"
    )
    nginx = subprocess.Popen(["nginx", "-p", str(run), "-c", "nginx.conf", "-g", "daemon off;"], start_new_session=True)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", next(iter(ports.values()))[0]), timeout=1).close()
            return ports, nginx
        except OSError:
            if nginx.poll() is not None:
                raise SystemExit(f"deliveries: nginx does not start, see {run}/logs/error.log") from None
            time.sleep(0.05)
    raise SystemExit("deliveries: nginx does not listen")


def texts_read(body, attack):
    """The texts with the attack that the backend has read."""
    try:
        return sorted({text for text in json.loads(body) if text and attack in text})
    except ValueError:
        return []


def measure(deliveries, ports, backends, rule_sets):
    """For each delivery: who reads which attacks, and what becomes of each under each set of rules."""
    attacks = range(len(ATTACKS))
    samples = [delivery.build(HARMLESS) for delivery in deliveries]
    is_http2 = [isinstance(sample, Http2) for sample in samples]
    # Backends need up to a second for 10,000 fields, so they are asked with one attack, which stands for all.
    is_long = [not isinstance(sample, Http2) and len(sample) > LONG for sample in samples]
    pool = ThreadPoolExecutor(4)
    rows = []
    for number, delivery in enumerate(deliveries):
        row = {"place": delivery.place, "delivery": delivery.name, "read": {}, "statuses": {}, "harmless": {}}
        for backend in backends:
            port = ports[backend][is_http2[number]]
            asked = attacks[:1] if is_long[number] else attacks
            answers = pool.map(lambda at: send(port, delivery, ATTACKS[at])[1], asked)
            texts = {at: texts_read(body, ATTACKS[at]) for at, body in zip(asked, answers)}
            if is_long[number]:
                texts = {at: [text.replace(ATTACKS[0], ATTACKS[at]) for text in texts[0]] for at in attacks}
            row["read"][backend] = {at: found for at, found in texts.items() if found}
        for rules in rule_sets:
            for bounds in ("open", "closed"):
                port = ports[rules, bounds][is_http2[number]]
                key = f"{rules} {bounds}"
                row["harmless"][key] = send(port, delivery, HARMLESS)[0]
                row["statuses"][key] = list(pool.map(lambda at: send(port, delivery, ATTACKS[at])[0], attacks))
        rows.append(row)
        if sys.stderr.isatty() or (number + 1) % 50 == 0:
            print(f"deliveries: {number + 1} of {len(deliveries)}", end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr)
    return rows


class Plain:
    """What becomes of a text in the plain deliveries of a place."""

    def __init__(self, deliveries, ports):
        self.deliveries, self.ports, self.known = deliveries, ports, {}

    def is_found(self, rules, place, text):
        key = rules, place, text
        if key not in self.known:
            plain = [d for d in self.deliveries if d.place == place and d.name.startswith("plain")]
            port = self.ports[rules, "open"][0]
            try:
                self.known[key] = all(send(port, delivery, text)[0] == 403 for delivery in plain)
            except UnicodeEncodeError:  # half of a surrogate pair, which nothing carries outside of JSON
                self.known[key] = False
        return self.known[key]


def judge(rows, rule_sets, plain):
    """Counts of cells by set of rules, bounds and place, and the holes."""
    table, holes = {}, []
    for row in rows:
        place, read = row["place"], row["read"]
        for rules in rule_sets:
            known = [at for at, attack in enumerate(ATTACKS) if plain.is_found(rules, place, attack)]
            for bounds in ("open", "closed"):
                key = f"{rules} {bounds}"
                count = table.setdefault((key, place), dict.fromkeys(("cells", "read", "found", "refused", PASSED, "holes"), 0))
                missed = {}
                for at in known:
                    status = row["statuses"][key][at]
                    kind = "found" if status == 403 else PASSED if status in (200, 204) else "refused"
                    texts = {name: found[at] for name, found in read.items() if at in found}
                    count["cells"] += 1
                    count[kind] += 1
                    count["read"] += bool(texts)
                    if kind == PASSED and any(plain.is_found(rules, place, text) for one in texts.values() for text in one):
                        missed[at] = sorted(texts)
                count["holes"] += len(missed)
                if missed:
                    readers = sorted({name for names in missed.values() for name in names})
                    hole = {"rules": key, "place": place, "delivery": row["delivery"], "attacks": list(missed)}
                    holes.append({**hole, "read_by": readers})
    return table, holes


def show(rows, table, holes, backends):
    read = sum(any(row["read"].values()) for row in rows)
    print(f"{len(rows)} deliveries of {len(ATTACKS)} attacks; {read} deliveries are read by {', '.join(backends)}\n")
    print("| rules, `weir_bounds` | place | cells | a backend reads | found by rules | refused by bounds or nginx | pass | pass and are read |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for key in dict.fromkeys(key for key, _ in table):
        own = {place: count for (k, place), count in table.items() if k == key}
        for place, count in own.items():
            print(f"| {key} | {place} | " + " | ".join(f"{value:,}" for value in count.values()) + " |")
        total = [sum(count[name] for count in own.values()) for name in next(iter(own.values()))]
        print(f"| **{key}** | **all** | " + " | ".join(f"**{value:,}**" for value in total) + " |")
    for hole in holes:
        attacks = f"{len(hole['attacks'])} attacks" if len(hole["attacks"]) > 1 else repr(ATTACKS[hole["attacks"][0]])
        print(f"passed: {hole['rules']}, {hole['place']}, {hole['delivery']}: {attacks}, read by {', '.join(hole['read_by'])}")
    closed, known = 0, 0
    for hole in (hole for hole in holes if hole["rules"].endswith("closed")):
        is_known = [(hole["rules"].split()[0], hole["place"], ATTACKS[at]) in KNOWN for at in hole["attacks"]]
        known, closed = known + sum(is_known), closed + is_known.count(False)
    print(f"\n{known} known cells pass with weir_bounds closed: see KNOWN in bench/deliveries/deliveries.py")
    print(f"{closed} cells pass with weir_bounds closed and are read by a backend")
    return closed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", required=True, help="libngx_http_weir_module.so")
    parser.add_argument("--work", required=True, type=Path, help="directory of the backends and of nginx")
    parser.add_argument("--crs4", type=Path, help="a checkout of CRS 4; without it, CRS 4 is left out")
    parser.add_argument("--backends", default="flask,go,express,php", help="those to ask, separated by commas")
    parser.add_argument("--only", default="", help="only deliveries whose place and name contain this text, and the plain ones")
    parser.add_argument("--output", type=Path, help="a JSON file for the results")
    options = parser.parse_args()
    options.work = options.work.resolve()
    policies = [expressions()]
    crs = lambda name, **more: {"id": name, "rules": [{"id": f"{name}-rules", "when": "true", "action": {"crs": more}}]}
    policies.append(crs("crs3"))
    if options.crs4:
        policies.append(crs("crs4", path=str(options.crs4.resolve())))
    deliveries = [d for d in corpus.corpus() if d.name.startswith("plain") or options.only in f"{d.place} {d.name}"]
    names = [name for name in options.backends.split(",") if name]
    backends, running = start_backends(options.work, names)
    try:
        ports, nginx = start_nginx(options.work, Path(options.module).resolve(), policies, backends)
        running.append(nginx)
        begun = time.monotonic()
        rule_sets = [policy["id"] for policy in policies]
        rows = measure(deliveries, ports, backends, rule_sets)
        table, holes = judge(rows, rule_sets, Plain(deliveries, ports))
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGTERM)  # PHP's workers, too
        for process in running:
            process.wait()
    closed = show(rows, table, holes, names)
    print(f"deliveries: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    if options.output:
        summary = [{"rules": key, "place": place, **count} for (key, place), count in table.items()]
        document = {"deliveries": len(rows), "attacks": len(ATTACKS), "table": summary, "holes": holes}
        options.output.write_text(json.dumps(document) + "\n")
    sys.exit(closed > 0)


if __name__ == "__main__":
    main()
