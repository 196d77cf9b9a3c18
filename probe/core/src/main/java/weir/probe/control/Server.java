package weir.probe.control;

import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Semaphore;
import weir.probe.api.Log;

/**
 * HTTP for the local service: one request a connection, everything bounded. The JDK's own server is in the module
 * {@code jdk.httpserver}, which run-time images leave out.
 */
final class Server implements AutoCloseable {
    private static final int MAX_HEAD = 8 << 10;
    private static final int MAX_BODY = 256 << 10; // a shadow configuration of some thousand entries
    private static final int MAX_CONNECTIONS = 8; // further ones wait in the kernel's queue
    private static final long LINGER_MS = 1_000;
    private static final long DEADLINE_MS = 5_000; // for a whole request

    /** What answers requests. */
    interface Handler {
        Answer answer(Request request) throws Problem;
    }

    /** A request that has passed the checks of host and token. */
    static final class Request {
        final String method;
        final String path;
        final Map<String, String> headers;
        final JsonObject body;

        Request(String method, String path, Map<String, String> headers, JsonObject body) {
            this.method = method;
            this.path = path;
            this.headers = headers;
            this.body = body;
        }
    }

    private final ServerSocket socket;
    private final byte[] token;
    private final Handler handler;
    private final Semaphore free = new Semaphore(MAX_CONNECTIONS);

    Server(InetAddress address, int port, String token, Handler handler) throws IOException {
        socket = new ServerSocket(port, 16, address);
        this.token = token.getBytes(StandardCharsets.ISO_8859_1);
        this.handler = handler;
        start("weir-probe-http", this::accept);
    }

    int port() {
        return socket.getLocalPort();
    }

    static Thread start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void accept() {
        while (!socket.isClosed()) {
            try {
                free.acquire();
                Socket client;
                try {
                    client = socket.accept();
                } catch (IOException | RuntimeException | Error e) {
                    free.release();
                    throw e;
                }
                try {
                    start("weir-probe-request", () -> serve(client));
                } catch (OutOfMemoryError e) { // no thread to be had: the application needs them
                    free.release();
                    client.close();
                    pause();
                }
            } catch (IOException e) {
                if (!socket.isClosed()) {
                    Log.line("the local service does not accept: " + e);
                    pause();
                }
            } catch (InterruptedException e) {
                return;
            } catch (OutOfMemoryError e) {
                pause();
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(1000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void serve(Socket client) {
        try (Socket open = client) {
            Answer answer;
            try {
                answer = handler.answer(read(open));
            } catch (Problem problem) {
                answer = problem.answer();
            } catch (RuntimeException | LinkageError e) {
                answer = new Problem(500, "the probe failed: " + e, null).answer();
            }
            open.getOutputStream().write(answer.bytes());
            open.shutdownOutput();
            linger(open);
        } catch (IOException e) {
            // the client is gone
        } finally {
            free.release();
        }
    }

    /** Reads on for a moment: a close with bytes unread is a reset, and the client would lose the answer. */
    private static void linger(Socket open) throws IOException {
        open.setSoTimeout(200);
        byte[] rest = new byte[4096];
        long end = System.nanoTime() + LINGER_MS * 1_000_000;
        for (int read = 0, n; read < MAX_BODY && System.nanoTime() < end && (n = open.getInputStream().read(rest)) >= 0; ) {
            read += n;
        }
    }

    private Request read(Socket open) throws IOException, Problem {
        long end = System.nanoTime() + DEADLINE_MS * 1_000_000;
        InputStream in = open.getInputStream();
        byte[] bytes = new byte[MAX_HEAD];
        int length = 0;
        int head;
        while ((head = headEnd(bytes, length)) < 0) {
            if (length == MAX_HEAD) {
                throw new Problem(431, "the header is longer than " + MAX_HEAD + " bytes", null);
            }
            length += some(open, in, bytes, length, end);
        }
        String[] lines = new String(bytes, 0, head, StandardCharsets.ISO_8859_1).split("\r\n");
        String[] first = lines[0].split(" ");
        Map<String, String> headers = new HashMap<>();
        for (String line : Arrays.asList(lines).subList(1, lines.length)) {
            int colon = line.indexOf(':');
            if (colon < 1 || headers.put(line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).trim()) != null) {
                throw new Problem(400, "a header field is malformed or given twice", null);
            }
        }
        if (first.length != 3 || !first[1].startsWith("/") || !first[2].startsWith("HTTP/1.")) {
            throw new Problem(400, "the first line is not that of an HTTP/1.1 request", null);
        }
        admit(open, headers);
        byte[] body = body(headers);
        int there = Math.min(length - head - 4, body.length);
        System.arraycopy(bytes, head + 4, body, 0, there);
        while (there < body.length) {
            there += some(open, in, body, there, end);
        }
        return new Request(first[0], first[1], headers, json(headers, body));
    }

    private static int headEnd(byte[] bytes, int length) {
        for (int i = 3; i < length; i++) {
            if (bytes[i] == '\n' && bytes[i - 1] == '\r' && bytes[i - 2] == '\n' && bytes[i - 3] == '\r') {
                return i - 3;
            }
        }
        return -1;
    }

    private static int some(Socket open, InputStream in, byte[] bytes, int from, long end) throws IOException {
        long left = (end - System.nanoTime()) / 1_000_000;
        if (left <= 0) {
            throw new IOException("too slow");
        }
        open.setSoTimeout((int) left);
        int n = in.read(bytes, from, bytes.length - from);
        if (n < 0) {
            throw new IOException("ended early");
        }
        return n;
    }

    /** A page in a browser can name this service by a name of its own (DNS rebinding), but has no token either. */
    private void admit(Socket open, Map<String, String> headers) throws Problem {
        String host = headers.getOrDefault("host", "").replaceFirst(":[0-9]*$", "");
        String own = open.getLocalAddress().getHostAddress();
        if (!Arrays.asList("127.0.0.1", "localhost", "[::1]", own, '[' + own + ']').contains(host.toLowerCase(Locale.ROOT))) {
            throw new Problem(421, "the host is not an address of this service", "use 127.0.0.1");
        }
        byte[] given = headers.getOrDefault("authorization", "").getBytes(StandardCharsets.ISO_8859_1);
        byte[] scheme = "Bearer ".getBytes(StandardCharsets.ISO_8859_1);
        if (given.length < scheme.length || !new String(given, 0, scheme.length, StandardCharsets.ISO_8859_1).equalsIgnoreCase("Bearer ")
                || !MessageDigest.isEqual(Arrays.copyOfRange(given, scheme.length, given.length), token)) {
            throw new Problem(401, "the token is missing or is not this probe's",
                    "send `Authorization: Bearer TOKEN` with the token in the registration file");
        }
    }

    private static byte[] body(Map<String, String> headers) throws Problem {
        if (headers.containsKey("transfer-encoding")) {
            throw new Problem(411, "a body needs a Content-Length here", null);
        }
        String length = headers.getOrDefault("content-length", "0");
        if (!length.matches("[0-9]{1,18}")) {
            throw new Problem(400, "Content-Length is not a number", null);
        }
        if (Long.parseLong(length) > MAX_BODY) {
            throw new Problem(413, "the body is longer than " + MAX_BODY + " bytes", null);
        }
        return new byte[Integer.parseInt(length)];
    }

    private static JsonObject json(Map<String, String> headers, byte[] body) throws Problem {
        if (body.length == 0) {
            return new JsonObject();
        }
        if (!headers.getOrDefault("content-type", "").split(";")[0].trim().equalsIgnoreCase("application/json")) {
            throw new Problem(415, "the body is not declared as JSON", "send `Content-Type: application/json`");
        }
        try {
            return JsonParser.object().from(new String(body, StandardCharsets.UTF_8));
        } catch (JsonParserException e) {
            throw new Problem(400, "the body is not a JSON object: line " + e.getLinePosition() + ", column "
                    + e.getCharPosition() + ": " + e.getMessage(), null);
        } catch (StackOverflowError e) {
            throw new Problem(400, "the body is nested too deeply", null);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
