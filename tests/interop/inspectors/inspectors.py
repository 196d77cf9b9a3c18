"""Asks others' servers about requests through nginx with Weir, sends the requests with curl, and checks what comes of them.

    inspectors.py MODULE WEIR TOOLS WORK     scripts/interop-inspectors.sh prepares TOOLS
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import services

CLOSED = 503
passed, failed = 0, 0


def check(what, is_right, found=""):
    global passed, failed
    if is_right:
        passed += 1
        print(f"ok      {what}", flush=True)
    else:
        failed += 1
        print(f"FAILED  {what}: {found}", flush=True)


class Answer:
    """What curl got."""

    def __init__(self, text):
        head, _, self.body = text.partition("\r\n\r\n")
        lines = head.split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.fields = [tuple(line.split(": ", 1)) if ": " in line else (line.rstrip(":"), "") for line in lines[1:]]

    def all(self, name):
        return [value for known, value in self.fields if known.lower() == name.lower()]

    def received(self, name):
        """The fields of that name that the origin got; `None` if it got no request."""
        try:
            fields = json.loads(self.body)["headers"]
        except (ValueError, KeyError):
            return None
        return [value for known, value in fields if known == name.lower()]

    def __str__(self):
        return f"{self.status} {self.fields} {self.body[:300]!r}"


def curl(url, *options):
    """An answer; without one after 20 s, its status is 0."""
    done = subprocess.run(["curl", "-sS", "-i", "--path-as-is", "-m", "20", *options, url], capture_output=True)
    return Answer(done.stdout.decode(errors="replace"))


def policy(oauth2, authz, appsec, work, bridge):
    """One inspector for each way of asking; paths begin with the id of theirs."""
    (work / "key").write_text(services.KEY + "\n")
    (work / "wrong-key").write_text("not-a-key\n")
    # Answers from before the server was killed count, too, and how many differs from run to run.
    breaker = {"requests": 10, "failures": 20, "open": "300ms"}
    common = {"deadline": "2s", "breaker": breaker}

    def at(port, **more):
        return {"endpoints": [f"127.0.0.1:{port}"], **common, **more}

    user = {"protocol": "forward_auth", "sets": ["X-Auth-Request-User", "X-Auth-Request-Email"]}
    verdict = ["X-Ext-Authz-Check-Result", "X-Ext-Authz-Check-Received"]
    waf = {"protocol": "crowdsec", "body": "64k"}
    inspectors = {
        "basic": at(oauth2.port, path="/oauth2/auth", **user),
        "login": at(oauth2.port, path="/", **user),
        "page": at(oauth2.port, path="/oauth2/callback?error=denied", **user),
        "authz": at(authz.port, protocol="ext_authz", body="1k", sets=verdict),
        "lenient": at(authz.port, protocol="ext_authz", fail="open"),
        "appsec": at(appsec.port, token=str(work / "key"), **waf),
        "captcha": at(appsec.port, token=str(work / "key"), unknown="captcha", **waf),
        "closed": at(appsec.port, token=str(work / "key"), fail="closed", **waf),
        "stranger": at(appsec.port, token=str(work / "wrong-key"), **waf),
        "outsider": at(appsec.port, token=str(work / "wrong-key"), fail="closed", **waf),
    }
    if bridge:
        inspectors["grpc"] = at(bridge.port, detector="authz", fail="closed", body="1k", sets=verdict)
    rules = [
        {"id": name, "when": f'starts_with(http.request.uri.path, "/{name}")', "action": {"inspect": name}}
        for name in inspectors
    ]
    rules[list(inspectors).index("appsec")]["when"] = (
        'starts_with(http.request.uri.path, "/appsec") or starts_with(http.request.uri.path, "/a:b/")'
    )
    return {"inspectors": inspectors, "policies": [{"id": "interop", "rules": rules}]}


def forward_auth(base, oauth2, work):
    name = "forward_auth, oauth2-proxy"
    ada = ("-u", ":".join(services.BASIC))
    forged = ("-H", "X-Auth-Request-User: root", "-H", "X-Auth-Request-Email: root@example.com")

    answer = curl(f"{base}/basic/a")
    is_right = answer.status == 401 and answer.body == "Unauthorized\n" and answer.all("X-Content-Type-Options") == ["nosniff"]
    check(f"{name}: without credentials its 401 reaches the client whole", is_right, answer)
    stale = ("-b", "_oauth2_proxy_0=a; _oauth2_proxy_1=b")
    answer = curl(f"{base}/basic/a", *stale)
    cookies = answer.all("Set-Cookie")
    check(f"{name}: its 401 takes both stale cookies back", answer.status == 401 and len(cookies) == 2, answer)
    answer = curl(f"{base}/basic/a?b=c", *ada, *forged)
    is_right = answer.status == 200 and answer.received("X-Auth-Request-User") == ["ada"]
    check(f"{name}: with a password the origin gets X-Auth-Request-User", is_right, answer)
    check(f"{name}: the client's own copies are removed", answer.received("X-Auth-Request-Email") == [], answer)
    answer = curl(f"{base}/other", *forged)
    check(f"{name}: also where nobody is asked", answer.received("X-Auth-Request-User") == [], answer)
    answer = curl(f"{base}/basic/a", "-u", "ada:wrong")
    check(f"{name}: a wrong password is 401", answer.status == 401, answer)
    answer = curl(f"{base}/basic/a", *ada, "-d", "a=1")
    is_right = answer.status == 200 and json.loads(answer.body)["body"] == "a=1"
    check(f"{name}: a body passes", is_right, answer)
    statuses = [curl(f"{base}/basic/a", "-I", *more).status for more in [(), ada]]
    check(f"{name}: HEAD", statuses == [401, 200], statuses)

    through = curl(f"{base}/login/a?b=c", *stale)
    forwarded = ("-H", "X-Forwarded-Uri: /login/a?b=c", "-H", "X-Forwarded-Proto: http")
    direct = curl(f"http://127.0.0.1:{oauth2.port}/", *stale, *forwarded, "-H", f"X-Forwarded-Host: {base.split('/')[2]}")

    def shape(answer):
        of_nginx = ("connection", "server", "date")
        return answer.status, sorted(field for field, _ in answer.fields if field.lower() not in of_nginx)

    shapes = shape(through), shape(direct)
    check(f"{name}: a redirect has all fields that the server sends", shapes[0] == shapes[1], shapes)
    cookies = [cookie.split("=")[0] for cookie in through.all("Set-Cookie")]
    is_right = cookies == ["_oauth2_proxy_0", "_oauth2_proxy_1", "_oauth2_proxy_csrf"]
    check(f"{name}: and all three Set-Cookie, in order", through.status == 302 and is_right, cookies)
    location = through.all("Location")
    is_right = len(location) == 1 and "/oidc/authorize?" in location[0] and "Flogin%252Fa%253Fb%253Dc" in location[0]
    check(f"{name}: the Location knows the original path and query", is_right, location)
    through = curl(f"{base}/page")
    direct = curl(f"http://127.0.0.1:{oauth2.port}/oauth2/callback?error=denied", "-H", "X-Forwarded-Uri: /page")
    pages = [re.sub("[0-9a-f-]{36}", "ID OF THE REQUEST", answer.body) for answer in (through, direct)]
    is_right = through.status == direct.status == 403 and len(pages[0]) > 2000 and pages[0] == pages[1]
    found = (through.status, len(through.body), len(direct.body))
    check(f"{name}: a page in chunks reaches the client byte for byte", is_right, found)

    with tempfile.NamedTemporaryFile(dir=work) as jar:
        cookies = ("-c", jar.name, "-b", jar.name)
        follow = ["curl", "-sS", "-L", "--max-redirs", "6", "-m", "20", *cookies, f"{base}/login/a"]
        answer = Answer("HTTP/1.1 200 OK\r\n\r\n" + subprocess.run(follow, capture_output=True).stdout.decode())
        is_right = answer.received("X-Auth-Request-Email") == ["jane.doe@example.com"]
        check(f"{name}: a login with OpenID Connect ends at the origin", is_right, answer)
        answer = curl(f"{base}/basic/a", *cookies)
        is_right = answer.status == 200 and answer.received("X-Auth-Request-Email") == ["jane.doe@example.com"]
        check(f"{name}: the session's cookie is enough from then on", is_right, answer)


def ext_authz(base, prefix, name):
    allow = ("-H", "x-ext-authz: allow")
    forged = ("-H", "X-Ext-Authz-Check-Result: forged")
    answer = curl(f"{base}/{prefix}/a")
    is_right = answer.status == 403 and answer.body.startswith("denied by ext_authz")
    check(f"{name}: a denial reaches the client whole", is_right and answer.all("x-ext-authz-check-result") == ["denied"], answer)
    answer = curl(f"{base}/{prefix}/a", *allow, *forged)
    is_right = answer.status == 200 and answer.received("x-ext-authz-check-result") == ["allowed"]
    check(f"{name}: a permission sets a field in place of the client's", is_right, answer)
    began = f"{prefix}/x%20y?q=1&r"
    more = ("-X", "PUT", "-H", "Content-Type: text/plain", "-d", "the body", "-H", "Host: shop.example")
    answer = curl(f"{base}/{began}", *allow, *more)
    received = "".join(answer.received("x-ext-authz-check-received") or [])
    parts = ["PUT", "shop.example", f"/{began}", "the body", "127.0.0.1"]
    check(f"{name}: it sees method, host, target, body and client", all(part in received for part in parts), answer)
    found = [curl(f"{base}/{prefix}/a", "-I", *more).status for more in [(), allow]]
    check(f"{name}: HEAD", found == [403, 200], found)
    answer = curl(f"{base}/{prefix}/a", *allow, "-H", "Content-Type: text/plain", "-d", "x" * 5000)
    check(f"{name}: of a long body the origin gets all", len(json.loads(answer.body or "{}").get("body", "")) == 5000, answer)
    return answer


def crowdsec(base, work):
    name = "crowdsec, AppSec 1.7"
    for what, status, path, options in [
        ("a harmless request passes", 200, "/appsec/a?b=c", ()),
        ("an attack in the path is 403", 403, "/appsec/rce-test", ()),
        ("an encoded attack in the path is 403", 403, "/appsec/rce%2dtest", ()),
        ("an attack in the query is 403", 403, "/appsec/a?b=RCE-test", ()),
        ("an attack in a form is 403", 403, "/appsec/a", ("-d", "b=rce-test")),
        ("an attack in a raw body is 403", 403, "/appsec/a", ("-d", "a rce-raw b")),
        ("an attack in a header field is 403", 403, "/appsec/a", ("-H", "X-Attack: yes")),
        ("an attack by method is 403", 403, "/appsec/a", ("-X", "PURGE")),
        ("HEAD passes", 200, "/appsec/a", ("-I",)),
        ("HEAD with an attack is 403", 403, "/appsec/rce-test", ("-I",)),
        ("a harmless form passes", 200, "/appsec/a", ("-d", "b=c")),
        ("fields that the client forges do not hide an attack", 403, "/appsec/rce-test",
         ("-H", "X-Crowdsec-Appsec-Uri: /", "-H", "X-Crowdsec-Appsec-Verb: GET", "-H", "X-Crowdsec-Appsec-Api-Key: x")),
        ("two slashes and a colon do not hide an attack", 403, "//a:b/appsec/rce-test", ()),
        ("a malformed fragment does not hide an attack", 403, "/appsec/a?b=rce-test#%zz", ()),
        ("a control character does not hide an attack", 403, "/appsec/rce-test", ("-H", "X-A: a\x01b")),
        ("an attack in a path with a malformed query is 403", 403, "/appsec/rce-test?%zz", ()),
        ("a captcha is a refusal", 403, "/appsec/captcha-test", ()),
        ("an unknown remediation is a ban", 403, "/appsec/throttle-test", ()),
        ("or what `unknown` says", 403, "/captcha/throttle-test", ()),
        ("with a wrong key `fail: open` holds, not a ban", 200, "/stranger/a", ()),
        ("with a wrong key `fail: closed` holds", CLOSED, "/outsider/a", ()),
    ]:
        answer = curl(base + path, *options)
        check(f"{name}: {what}", answer.status == status, f"{answer.status}, not {status}: {answer}")
    # Each worker writes its lines a little later.
    reasons = ["crowdsec: ban", "crowdsec: captcha", 'crowdsec: unknown remediation \\"throttle\\"']
    captchas = ["/appsec/captcha-test", "/captcha/throttle-test"]
    until = time.monotonic() + 10
    while True:
        log = (work / "attack.log").read_text()
        lines = [json.loads(line) for line in log.splitlines(True) if line.endswith("\n")]
        missing = [reason for reason in reasons if reason not in log]
        tagged = sorted(line["uri"] for line in lines if "captcha" in line.get("tags", []))
        if not missing and tagged == captchas or time.monotonic() > until:
            break
        time.sleep(0.1)
    check(f"{name}: the attack log says ban, captcha, and the unknown remediation by its name", not missing, missing)
    check(f"{name}: a captcha has the tag `captcha`, as has what `unknown` maps to it", tagged == captchas, tagged)


def statuses(urls, options, at_100=None):
    """Statuses of requests on 16 connections; `at_100` is called when 100 of them have been answered."""
    run = ["stdbuf", "-oL", "curl", "-s", "-Z", "--parallel-immediate", "--parallel-max", "16", "-m", "60"]
    run += ["-o", "/dev/null", "-w", "%{http_code}\n", *options, urls]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = {}
    for count, line in enumerate(process.stdout):
        found[int(line)] = found.get(int(line), 0) + 1
        if count == 100 and at_100:
            at_100()
    process.wait()
    return found


def failures(base, work, service, inspector, options, without):
    """Kills the server under requests, and pauses it; `without` is the status that the fail mode stands for."""
    name = f"{service.name}, killed under requests"
    log = work / "error.log"
    begin = len(log.read_text())
    url = f"{base}/{inspector}/a?n="

    def news(text):
        return len(re.findall(text, log.read_text()[begin:]))

    found = statuses(f"{url}[1-1500]", options, service.kill)
    is_right = sum(found.values()) == 1500 and set(found) == {200, without}
    check(f"{name}: each is answered, {' or '.join(map(str, sorted({200, without})))}", is_right, found)
    found = statuses(f"{url}[1-400]", options)
    check(f"{name}: the fail mode holds", found == {without: 400}, found)
    opened = news(f"inspector {inspector} fails too often")
    check(f"{name}: each worker says once that it does not ask any more", opened == 2, opened)
    service.start()
    until = time.monotonic() + 40
    streak = 0
    while streak < 20 and time.monotonic() < until:
        answer = curl(f"{url}1", *options)
        # With `fail: open` a request that passes says nothing.
        is_back = answer.status == 200 and (without != 200 or curl(f"{base}/{inspector}/rce-test").status == 403)
        streak = streak + 1 if is_back else 0
        time.sleep(0 if is_back else 0.1)
    check(f"{name}: after its start it is asked again", streak == 20, answer)
    back = news(f"inspector {inspector} answers again")
    check(f"{name}: each worker says so once", back == 2, back)

    name = f"{service.name}, paused"
    service.pause()
    try:
        answer = curl(f"{url}1", *options)
        check(f"{name}: the request does not wait for longer than the deadline", answer.status == without, answer.status)
    finally:
        service.go_on()
    time.sleep(0.3)
    found = statuses(f"{url}[1-100]", options)
    check(f"{name}: afterwards it is asked as before", found == {200: 100}, found)


def bridge(weir, work, authz):
    """`weir inspector`, which asks the server by gRPC; `None` where this build has none."""
    if subprocess.run([weir, "inspector", "--help"], capture_output=True).returncode != 0:
        return None
    port = services.free_port()
    config = {
        "listen": [f"127.0.0.1:{port}"],
        "detectors": {"authz": {"kind": "ext_authz", "endpoint": f"http://127.0.0.1:{authz.grpc}", "with_body": True}},
    }
    (work / "inspector.json").write_text(json.dumps(config))
    return services.Service("weir-inspector", port, [weir, "inspector", "--config", work / "inspector.json"], work)


def main():
    module, weir, tools, work = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    running = []
    site = services.free_port()
    base = f"http://127.0.0.1:{site}"
    try:
        running.append(provider := services.provider(tools, work))
        running.append(oauth2 := services.oauth2_proxy(tools, work, provider.port, site))
        running.append(authz := services.ext_authz(tools, work))
        running.append(appsec := services.crowdsec(tools, work))
        if by_grpc := bridge(weir, work, authz):
            running.append(by_grpc)
        rules = policy(oauth2, authz, appsec, work, by_grpc)
        running.append(nginx := services.nginx(module, work, site, rules, services.Origin.start(), oauth2.port))

        forward_auth(base, oauth2, work)
        answer = ext_authz(base, "authz", "ext_authz over HTTP, Istio's sample")
        partial = "X-Envoy-Auth-Partial-Body:[true]" in "".join(answer.received("x-ext-authz-check-received") or [])
        check("ext_authz over HTTP, Istio's sample: it is told that it sees a part of a body", partial, answer)
        if by_grpc:
            ext_authz(base, "grpc", "ext_authz by gRPC, Istio's sample")
        else:
            print("skipped ext_authz by gRPC: this build has no `weir inspector`")
        crowdsec(base, work)
        failures(base, work, oauth2, "basic", ("-u", ":".join(services.BASIC)), CLOSED)
        failures(base, work, authz, "authz", ("-H", "x-ext-authz: allow"), CLOSED)
        failures(base, work, appsec, "appsec", (), 200)
        failures(base, work, appsec, "closed", (), CLOSED)
        log = (work / "error.log").read_text()
        is_right = nginx.process.poll() is None and not re.search(r"exited on|fault in|\[alert\]|\[emerg\]", log)
        check("nginx: no worker has ended, no fault", is_right, f"see {work / 'error.log'}")
    finally:
        for service in reversed(running):
            service.end()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
