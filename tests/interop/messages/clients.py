"""Messages with clients that others have written, through a running gateway.

    clients.py MODULE WEIR WORK     scripts/interop-messages.sh prepares WORK
"""

import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import websockets.exceptions
import websockets.sync.client
import wsproto
import wsproto.events

import gateway
from report import Report

HERE = pathlib.Path(__file__).parent
COUNT = 120


def publish_while_reloading(up, topic):
    for n in range(COUNT):
        if n in (COUNT // 4, COUNT // 2):
            up.reload()
        up.publish(topic, str(n))
        time.sleep(0.01)


def python_websockets(up):
    report = Report("websockets")
    url = f"ws://127.0.0.1:{up.port}/live"

    def connect():
        return websockets.sync.client.connect(url, subprotocols=["weir.v1"], proxy=None)

    def receive(client):
        return json.loads(client.recv(timeout=gateway.PATIENCE))

    def basics():
        with connect() as client:
            report.check("the subprotocol is agreed on", client.subprotocol == "weir.v1", client.subprotocol)
            client.send(json.dumps({"subscribe": ["ws/+"]}))
            answer = receive(client)
            report.check("it subscribes", answer.get("subscribed") == ["ws/+"], answer)
            client.send(json.dumps({"publish": "ws/a", "data": "größe 😀", "id": 7}))
            frames = [receive(client), receive(client)]
            published = next((frame for frame in frames if "published" in frame), {})
            message = next((frame for frame in frames if "topic" in frame), {})
            report.check("it publishes", published.get("id") == 7 and message.get("data") == "größe 😀", frames)
            report.check("the answer names the message", published.get("published") == message.get("id"), frames)
            payload = bytes(range(256))
            up.publish("ws/b", payload)
            message = receive(client)
            report.check("bytes arrive as Base64", base64.b64decode(message.get("base64", "")) == payload, message)
            report.check("a ping is answered", client.ping().wait(gateway.PATIENCE))
            text = json.dumps({"publish": "ws/c", "data": "x" * 60_000})
            client.send([text[n : n + 1000] for n in range(0, len(text), 1000)])
            message = receive(client)
            report.check("a message in 61 fragments is one", message.get("data") == "x" * 60_000, str(message)[:100])
            client.send(b"binary")
            report.check("binary frames are refused, and the connection goes on", "error" in receive(client))
            client.close()
            report.check("the close is echoed", client.close_code == 1000, client.close_code)

    def resume():
        found, hints, codes = [], [], []
        since = up.publish("ws-resume", "before")
        ready = threading.Event()

        def follow():
            nonlocal since
            while len(found) < COUNT:
                try:
                    with connect() as client:
                        client.send(json.dumps({"subscribe": ["ws-resume"], "since": since}))
                        while len(found) < COUNT:
                            frame = receive(client)
                            if "topic" in frame:
                                found.append(frame["data"])
                                since = frame["id"]
                            elif "gap" in frame:
                                found.append("gap")
                            elif "reconnect_ms" in frame:
                                hints.append(frame["reconnect_ms"])
                            ready.set()
                except websockets.exceptions.ConnectionClosed as closed:
                    codes.append(closed.rcvd.code if closed.rcvd else None)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        ready.wait(gateway.PATIENCE)
        publish_while_reloading(up, "ws-resume")
        thread.join(gateway.PATIENCE)
        expected = [str(n) for n in range(COUNT)]
        report.check("each message once and in order while nginx reloads twice", found == expected, found)
        is_told = len(codes) > 0 and set(codes) == {1001} and len(hints) == len(codes)
        report.check("each worker that ends says when to come back, and closes with 1001", is_told, [codes, hints])

    report.run("frames", basics)
    report.run("resuming", resume)
    return report.close()


def python_wsproto(up):
    """The protocol alone, over a socket that cuts it anywhere."""
    report = Report("wsproto")

    def session():
        client = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        connection = socket.create_connection(("127.0.0.1", up.port), gateway.PATIENCE)
        request = wsproto.events.Request(host=f"127.0.0.1:{up.port}", target="/live/wsproto", subprotocols=["other", "weir.v1"])
        seen = []

        def send(event, step=None):
            data = client.send(event)
            for n in range(0, len(data), step or len(data)):
                connection.sendall(data[n : n + (step or len(data))])

        def next_event():
            while not seen:
                data = connection.recv(65536)
                client.receive_data(data or None)
                seen.extend(client.events())
            return seen.pop(0)

        def next_text():
            text = ""
            while True:
                event = next_event()
                text += event.data
                if event.message_finished:
                    return json.loads(text)

        send(request, step=10)
        event = next_event()
        is_right = isinstance(event, wsproto.events.AcceptConnection) and event.subprotocol == "weir.v1"
        report.check("the handshake is accepted, with the subprotocol that both know", is_right, event)
        answer = next_text()
        report.check("the topic in the path is subscribed to", answer.get("subscribed") == ["wsproto"], answer)
        text = json.dumps({"publish": "wsproto", "data": "in pieces", "id": 1})
        send(wsproto.events.TextMessage(data=text[:10], message_finished=False), step=1)
        send(wsproto.events.Ping(payload=b"between"), step=1)
        event = next_event()
        is_right = isinstance(event, wsproto.events.Pong) and bytes(event.payload) == b"between"
        report.check("a ping between fragments is answered at once", is_right, event)
        send(wsproto.events.TextMessage(data=text[10:]), step=1)
        frames = [next_text(), next_text()]
        is_right = sorted(map(str, (frame.get("data") for frame in frames))) == ["None", "in pieces"]
        report.check("a message byte by byte, in fragments, is published", is_right, frames)
        send(wsproto.events.CloseConnection(code=4000, reason="done"))
        event = next_event()
        is_right = isinstance(event, wsproto.events.CloseConnection) and event.code == 4000
        report.check("the close is echoed with its code", is_right, event)
        report.check("and the connection ended", connection.recv(1) == b"")
        connection.close()

    report.run("a session", session)
    return report.close()


def websocat(up, program):
    report = Report("websocat")

    def session():
        command = [program, "--protocol", "weir.v1", f"ws://127.0.0.1:{up.port}/live?topic=websocat"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = json.loads(process.stdout.readline() or "{}")
        report.check("it subscribes by the URL", answer.get("subscribed") == ["websocat"], answer)
        up.publish("websocat", "to it")
        message = json.loads(process.stdout.readline() or "{}")
        report.check("it gets what is published", message.get("data") == "to it", message)
        process.stdin.write('{"publish": "websocat", "data": "from it"}\n')
        process.stdin.flush()
        message = json.loads(process.stdout.readline() or "{}")
        report.check("a line is a frame: it publishes", message.get("data") == "from it", message)
        process.stdin.close()
        report.check("it closes in order", process.wait(gateway.PATIENCE) == 0, process.returncode)

    timer = threading.Timer(60, os._exit, (1,))
    timer.daemon = True
    timer.start()
    report.run("a session", session)
    timer.cancel()
    return report.close()


def curl(up):
    report = Report("curl")

    def events(name, port, *options):
        topic = f"curl-{port}"
        up.publish(topic, "before")
        command = ["curl", "-sS", "-N", "-m", "20", "-w", "%{http_version} %{http_code}", "-H", "Accept: text/event-stream"]
        url = f"http://127.0.0.1:{port}/live/{topic}?since=oldest"
        process = subprocess.Popen([*command, *options, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def line_with(wanted):
            for line in process.stdout:
                if wanted in line:
                    return line.rstrip("\n")
            return None

        report.check(f"{name}: what is kept comes first", line_with("data") == "data: before")
        up.publish(topic, "live")
        report.check(f"{name}: what is published comes at once", line_with("data") == "data: live")
        # More than a flow control window of HTTP/2, and more than the buffer of a subscriber.
        for n in range(12):
            up.publish(topic, f"{n} " + "x" * 60_000)
        found = [(line_with("data") or "").split(" ", 2)[1:2] for _ in range(12)]
        report.check(f"{name}: 720 kB come through in order", found == [[str(n)] for n in range(12)], found)
        up.reload()
        retry = line_with("retry") or ""
        report.check(f"{name}: a worker that ends says when to come back", 0 < int(retry.split()[-1] if retry else 0) <= 6000, retry)
        rest, errors = process.stdout.read(), process.stderr.read()
        process.wait(gateway.PATIENCE)
        version = "2" if "--http2-prior-knowledge" in options else "1.1"
        is_right = process.returncode == 0 and rest.strip().endswith(f"{version} 200")
        report.check(f"{name}: the response ends whole", is_right, (process.returncode, rest[-200:], errors))

    report.run("HTTP/1.1", lambda: events("HTTP/1.1", up.port, "--http1.1"))
    report.run("HTTP/2", lambda: events("HTTP/2", up.h2_port, "--http2-prior-knowledge"))
    return report.close()


def node(script, *arguments):
    try:
        return subprocess.run(["node", script, *map(str, arguments)], timeout=300).returncode
    except subprocess.TimeoutExpired:
        print(f"FAILED  {script.stem}: not done after 300 s")
        return 1


def main():
    module, weir, work = sys.argv[1:4]
    work = pathlib.Path(work)
    programs = {"chromium": shutil.which("chromium"), "websocat": shutil.which("websocat", path=f"{work}/tools/bin:{os.environ['PATH']}")}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="weir-interop-") as directory:
        up = gateway.Gateway(module, weir, directory)
        try:
            failed += python_websockets(up)
            failed += python_wsproto(up)
            failed += curl(up)
            failed += node(work / "events.mjs", up.port, up.master)
            if programs["websocat"]:
                failed += websocat(up, programs["websocat"])
            else:
                print("websocat: skipped, it is not installed and could not be built")
            if programs["chromium"]:
                failed += node(work / "browser.mjs", up.port, up.master, programs["chromium"])
            else:
                print("chromium: skipped, it is not installed")
        finally:
            up.stop()
    sys.exit(failed > 0)


main()
