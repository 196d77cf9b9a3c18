"""Compares Weir's WebSocket decoder with wsproto: generated and mutated streams of a client's frames, cut anywhere.

    frames.py WSDECODE [STREAMS [SEED]]

WSDECODE is the example `wsdecode` of weir-messages. Where wsproto sees an error later, or refuses what has been registered
since, the code below says so; nothing else may differ.
"""

import codecs
import random
import struct
import subprocess
import sys

import wsproto.frame_protocol
from wsproto.frame_protocol import FrameProtocol, Opcode, ParseFailed

TEXTS = ["", "a", "größe", "€uro 😀", "x" * 125, "y" * 126, "ä" * 400]
CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 3000, 4999]
BAD_CODES = [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535]


def frame(rng, first, payload, length=None):
    mask = rng.randbytes(4)
    count = len(payload) if length is None else length
    size = rng.random()
    if count <= 125 and size > 0.01:
        head = bytes([first, 0x80 | count])
    elif count <= 0xFFFF and size > 0.005:
        head = bytes([first, 0xFE]) + struct.pack("!H", count)
    else:
        head = bytes([first, 0xFF]) + struct.pack("!Q", count)
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def message(rng):
    """A message, perhaps in fragments with control frames between them."""
    is_text = rng.random() < 0.6
    payload = rng.choice(TEXTS).encode() if is_text else rng.randbytes(rng.choice([0, 1, 7, 130, 600]))
    if rng.random() < 0.1:
        payload += rng.choice([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82", b"\xf4\x90\x80\x80"])
    if rng.random() < 0.002:
        payload *= 300
    cuts = sorted(rng.randint(0, len(payload)) for _ in range(rng.choice([0, 0, 1, 3])))
    edges = [0, *cuts, len(payload)]
    for index, (start, end) in enumerate(zip(edges, edges[1:])):
        opcode = (1 if is_text else 2) if index == 0 else 0
        last = index == len(edges) - 2
        yield frame(rng, opcode | (0x80 if last else 0), payload[start:end])
        if rng.random() < 0.2:
            yield control(rng)


def control(rng):
    return frame(rng, rng.choice([0x89, 0x8A]), rng.randbytes(rng.choice([0, 4, 125])))


def closing(rng):
    if rng.random() < 0.2:
        return frame(rng, 0x88, rng.choice([b"", b"\x03"]))
    code = rng.choice(CODES if rng.random() < 0.7 else BAD_CODES)
    return frame(rng, 0x88, struct.pack("!H", code) + rng.choice([b"", b"bye", "größe".encode(), b"\xff"]))


def stream(rng):
    frames = [part for _ in range(rng.randint(1, 4)) for part in message(rng)]
    if rng.random() < 0.4:
        frames.append(closing(rng))
    if rng.random() < 0.2:
        frames.insert(rng.randrange(len(frames) + 1), rng.choice(frames))
    if rng.random() < 0.1:
        del frames[rng.randrange(len(frames))]
    data = bytearray(b"".join(frames))
    if rng.random() < 0.5 and data:
        for _ in range(rng.randint(1, 3)):
            start = rng.choice([0, 1, rng.randrange(len(data))])
            data[min(start, len(data) - 1)] ^= 1 << rng.randrange(8)
    if rng.random() < 0.1:
        del data[rng.randint(0, len(data)) :]
    return bytes(data)


def pieces(rng, data):
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.choice([0, 1, 5, 30])))
    edges = [0, *cuts, len(data)]
    return [data[start:end] for start, end in zip(edges, edges[1:]) if start < end]


class Strict(codecs.getincrementaldecoder("utf-8")):
    """Python waits for the rest of some characters that cannot be any more, as of ED A0; Weir does not."""

    def decode(self, data, final=False):
        text = super().decode(data, final)
        begun = self.getstate()[0]
        if begun and not any(self.is_character(begun + tail * count) for tail in (b"\x80", b"\xbf") for count in (1, 2, 3)):
            raise UnicodeDecodeError("utf-8", begun, 0, len(begun), "no character begins so")
        return text

    @staticmethod
    def is_character(data):
        try:
            return len(data.decode()) == 1
        except UnicodeDecodeError:
            return False


wsproto.frame_protocol.getincrementaldecoder = lambda _: Strict


class Reference:
    """wsproto, and what it has said."""

    def __init__(self):
        self.protocol = FrameProtocol(client=False, extensions=[])
        self.events = []
        self.gathered = []
        self.is_over = False

    def feed(self, part):
        if self.is_over:
            return
        try:
            self.protocol.receive_bytes(part)
            for frame in self.protocol.received_frames():
                self.show(frame)
                if self.is_over:
                    return
        except ParseFailed as error:
            self.events.append(f"error:{int(error.code)}")
            self.is_over = True

    def show(self, frame):
        if frame.opcode is Opcode.CLOSE:
            code, reason = frame.payload
            self.events.append(f"close:{int(code)}:{reason.encode().hex()}")
            self.is_over = True
        elif frame.opcode.iscontrol():
            self.events.append(f"{frame.opcode.name.lower()}:{bytes(frame.payload).hex()}")
        else:
            is_text = frame.opcode is Opcode.TEXT
            self.gathered.append(frame.payload.encode() if is_text else bytes(frame.payload))
            if frame.message_finished:
                self.events.append(f"{frame.opcode.name.lower()}:{b''.join(self.gathered).hex()}")
                self.gathered.clear()


def agrees(ours, parts):
    reference = Reference()
    for part in parts:
        reference.feed(part)
    theirs = reference.events
    # wsproto does not know 1014, which IANA has registered since.
    if ours and ours[-1].startswith("close:1014:") and theirs == [*ours[:-1], "error:1002"]:
        return True, theirs
    # wsproto checks the order of frames, and characters at a cut, only with further bytes.
    if not reference.is_over and ours[:-1] == theirs and ours[-1:] > ["error:"]:
        reference.feed(bytes(200))
    return ours == theirs, theirs


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 6455
    rng = random.Random(seed)
    streams = [pieces(rng, stream(rng)) for _ in range(count)]
    lines = "".join(" ".join(part.hex() for part in parts) + "\n" for parts in streams)
    output = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout
    answers = [line.split() for line in output.splitlines()]
    assert len(answers) == count, f"{len(answers)} answers to {count} streams"
    kinds, wrong = {}, 0
    for parts, ours in zip(streams, answers):
        agree, theirs = agrees(ours, parts)
        for event in ours:
            kind = event if event.startswith("error") else event.split(":")[0]
            kinds[kind] = kinds.get(kind, 0) + 1
        if not agree:
            wrong += 1
            if wrong <= 5:
                shown = " ".join(part.hex() for part in parts)
                print(f"differs: {shown}\n  weir    {ours}\n  wsproto {theirs}")
    print(f"frames: {count} streams, seed {seed}: {wrong} differ from wsproto; events {dict(sorted(kinds.items()))}")
    missing = {"text", "binary", "ping", "pong", "close", "error:1002", "error:1007"} - kinds.keys()
    assert not missing, f"never seen: {missing}"
    sys.exit(wrong > 0)


main()
