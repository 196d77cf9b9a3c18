// Weir messages in a browser: a WebSocket with the subprotocol weir.v1 that comes back, and goes on where it was.
//
//   const messages = connect("wss://example.com/messages", {
//     topics: ["orders/+"],
//     since: "oldest",                              // or the id of the last message that you have; without it, from now
//     onMessage: ({ topic, id, data }) => {},       // data: a string, or a Uint8Array if the payload is not UTF-8
//     onGap: ({ gap, from, to }) => {},             // messages were lost: load what they changed
//     onPresence: ({ topic, count, present, joined, left }) => {},   // of topics that presence() has named
//     onState: (state, detail) => {},               // "connecting", "open", "closed"; "error" with the server's frame
//   });
//   messages.subscribe("news/#"); messages.unsubscribe("news/#");
//   messages.publish("orders/7", "text");           // false while there is no connection
//   messages.presence("orders/7");                  // who is there, now and whenever that changes
//   messages.close();
//
// Waits between attempts are random, up to 1 s, 2 s, 4 s and so on to 30 s, so that many clients do not come back at once;
// a server that closes on purpose says how much longer. A connection that is silent for a minute is given up.

export function connect(url, { topics = [], since, onMessage, onGap, onPresence, onState } = {}) {
  const wanted = new Set(topics), watched = new Set();
  let socket, timer, pinger, heard, last = since, tries = 0, wait = 0;

  const send = (frame) => socket?.readyState == 1 && (socket.send(JSON.stringify(frame)), true);
  const bytes = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt());

  const receive = (frame) => {
    heard = 1;
    if (frame.count >= 0) onPresence?.(frame);
    else if (frame.topic) {
      last = frame.id;
      onMessage?.({ topic: frame.topic, id: last, data: frame.data ?? bytes(frame.base64) });
    } else if (frame.gap) {
      last = frame.to;
      onGap?.(frame);
    } else if (frame.subscribed) {
      tries = 0;
      last ??= frame.at;
    } else if (frame.reconnect_ms) wait = frame.reconnect_ms;
    else if (frame.error) onState?.("error", frame);
  };

  const lost = (old) => {
    if (old != socket) return;
    socket = clearInterval(pinger);
    onState?.("closed");
    timer = setTimeout(open, wait + Math.random() * Math.min(3e4, 1e3 * 2 ** tries++));
    wait = 0;
  };

  const open = () => {
    const own = (socket = new WebSocket(url, "weir.v1"));
    onState?.("connecting");
    own.onopen = () => {
      onState?.("open");
      // A frame takes 64 KiB, and a topic 256 bytes.
      for (const list = [...wanted]; list.length; )
        send({ subscribe: list.splice(0, 200), since: last, more: !!list.length || undefined });
      for (const topic of watched) send({ presence: [topic] });
    };
    own.onmessage = (event) => own == socket && receive(JSON.parse(event.data));
    own.onclose = () => lost(own);
    heard = 1;
    pinger = setInterval(() => {
      if (!heard) return own.close(), lost(own);
      heard = 0;
      if (send({ ping: 0 })) tries = 0;
    }, 3e4);
  };

  open();
  return {
    subscribe: (topic) => (wanted.add(topic), send({ subscribe: [topic] })),
    unsubscribe: (topic) => (wanted.delete(topic), send({ unsubscribe: [topic] })),
    presence: (topic) => (watched.add(topic), send({ presence: [topic] })),
    publish: (topic, data, id) => send({ publish: topic, data, id }),
    close() {
      const own = socket;
      socket = clearTimeout(timer);
      clearInterval(pinger);
      own?.close();
    },
  };
}
