"""An inspector in Python, with nothing but the standard library: refuses paths that begin with /private, tags others.

docs/inspectors.md describes the protocol. A frame is its length (u32, of what follows), kind (u8), id (u32), and
items: tag (u8), length (u32), bytes. Numbers are big-endian; unknown kinds and tags are passed over.

    python3 server.py [HOST:PORT] [TOKEN]
"""

import asyncio
import hmac
import struct
import sys

VERSION = b"weir-inspect/1"
MAX_FRAME_BYTES = 2 << 20
HELLO, QUESTION, ANSWER, PING, PONG = 0, 1, 2, 3, 4
# Items of a hello, a question and an answer that are used here.
HELLO_VERSION, HELLO_TOKEN, HELLO_DETECTOR = 1, 2, 3
ASK_PATH = 19  # decoded and normalised; the target as sent (8) may spell the same path as //%70rivate
SAY_ADVICE, SAY_STATUS, SAY_BODY, SAY_TAG, SAY_REASON = 1, 2, 4, 7, 9
PASS, REFUSE, UNABLE = 0, 1, 3


class Malformed(Exception):
    """What comes is not Weir's protocol."""


def frame(kind, ident, items=()):
    """The bytes of a frame; items are pairs of a tag and bytes."""
    body = b"".join(struct.pack(">BI", tag, len(value)) + value for tag, value in items)
    return struct.pack(">IBI", 5 + len(body), kind, ident) + body


def items(body):
    """The items of a frame."""
    at = 0
    while at < len(body):
        if len(body) - at < 5:
            raise Malformed("an item without a length")
        tag, length = struct.unpack_from(">BI", body, at)
        if length > len(body) - at - 5:
            raise Malformed("an item longer than its frame")
        yield tag, body[at + 5 : at + 5 + length]
        at += 5 + length


async def read(reader):
    """Kind, id and items of the next frame."""
    (length,) = struct.unpack(">I", await reader.readexactly(4))
    if not 5 <= length <= MAX_FRAME_BYTES:
        raise Malformed(f"a frame of {length} bytes")
    bytes_ = await reader.readexactly(length)
    kind, ident = struct.unpack_from(">BI", bytes_)
    return kind, ident, list(items(bytes_[5:]))


def decide(question):
    """The items of the answer to a question."""
    path = next((value for tag, value in question if tag == ASK_PATH), None)
    if path is None:  # a gateway of before: its fail mode decides
        return [(SAY_ADVICE, bytes([UNABLE]))]
    if path.startswith(b"/private"):
        status = (SAY_STATUS, struct.pack(">H", 403))
        return [(SAY_ADVICE, bytes([REFUSE])), status, (SAY_BODY, b"private\n"), (SAY_REASON, b"a private path")]
    return [(SAY_ADVICE, bytes([PASS])), (SAY_TAG, b"public")]


async def serve(reader, writer, token):
    """One connection of a gateway."""
    try:
        kind, _, hello = await read(reader)
        said = dict(hello)
        if kind != HELLO or said.get(HELLO_VERSION) != VERSION:
            raise Malformed("no hello")
        if not hmac.compare_digest(said.get(HELLO_TOKEN, b""), token):
            raise Malformed("wrong token")
        writer.write(frame(HELLO, 0, [(HELLO_VERSION, VERSION), (HELLO_DETECTOR, b"paths")]))
        while True:
            await writer.drain()  # a gateway that does not read is not read either
            kind, ident, asked = await read(reader)
            if kind == QUESTION:
                writer.write(frame(ANSWER, ident, decide(asked)))
            elif kind == PING:
                writer.write(frame(PONG, ident))
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the gateway has left
    except Malformed as error:
        print(f"closed: {error}", file=sys.stderr)
    finally:
        writer.close()


async def main():
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7331").rpartition(":")
    token = sys.argv[2].encode() if len(sys.argv) > 2 else b""
    server = await asyncio.start_server(lambda reader, writer: serve(reader, writer, token), host, int(port))
    print("listening on", "%s:%d" % server.sockets[0].getsockname()[:2], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
