package weir.probe.agent;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

class SocketTest {
    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void a_marked_thread_reaches_claimed_connections_and_its_client_alone(String home, @TempDir Path dir) throws Exception {
        int allowed = Servers.free();
        Path config = dir.resolve("probe.json");
        int marked = Servers.free();
        String json = "{\"shadow\": {\"sockets\": [\"localhost:" + allowed + "\"], \"allow\": [\"localhost:" + marked + "\"]}}";
        Files.write(config, json.getBytes());
        Jvms.of(home).agent("config=" + config).run(Program.class, String.valueOf(allowed), String.valueOf(marked));
    }

    static final class Program {
        private static final AtomicLong RECEIVED = new AtomicLong();

        interface Io {
            void run() throws IOException;
        }

        public static void main(String[] arguments) throws Exception {
            InetSocketAddress business = sink(0);
            InetSocketAddress allowed = sink(Integer.parseInt(arguments[0]));
            InetSocketAddress marked = sink(Integer.parseInt(arguments[1]));
            Socket ended = new Socket(business.getAddress(), business.getPort());
            SocketChannel gathering = SocketChannel.open(business);
            Socket socket = new Socket(business.getAddress(), business.getPort());
            OutputStream stream = socket.getOutputStream();
            SocketChannel channel = SocketChannel.open(business);
            OutputStream adaptor = SocketChannel.open(business).socket().getOutputStream();
            ServerSocketChannel server = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
            SocketChannel client = SocketChannel.open(server.getLocalAddress());
            SocketChannel accepted = server.accept();
            ServerSocket oldServer = new ServerSocket(0);
            Socket oldClient = new Socket("127.0.0.1", oldServer.getLocalPort());
            OutputStream oldAccepted = oldServer.accept().getOutputStream();
            ByteBuffer bytes = ByteBuffer.allocate(8);
            stream.write(7);
            channel.write(ByteBuffer.allocate(1));
            adaptor.write(7);
            System.out.println(Probes.command("arm"));
            stream.write(7);
            channel.write(ByteBuffer.allocate(1));
            Thread.sleep(200);
            long before = RECEIVED.get();
            Jvms.check(before == 5, "business bytes: " + before);
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                refused("new Socket", () -> new Socket(business.getAddress(), business.getPort()));
                refused("connect", () -> new Socket().connect(business, 100));
                refused("SocketChannel.open", () -> SocketChannel.open(business));
                refused("adaptor's connect", () -> SocketChannel.open().socket().connect(business, 100));
                refused("URL", () -> new URL("http://127.0.0.1:" + business.getPort() + "/").openStream());
                refused("a kept stream", () -> ended.getOutputStream().write(7));
                Jvms.check(ended.isClosed(), "what is refused may be in a buffer: the connection has to end");
                refused("a kept channel", () -> channel.write(bytes));
                Jvms.check(!channel.isOpen(), "a channel stays open");
                refused("gathering", () -> gathering.write(new ByteBuffer[] {bytes, bytes}));
                refused("adaptor's stream", () -> adaptor.write(7));
                refused("a service that would not get the mark", () -> new Socket("localhost", marked.getPort()));
                refused("its URL", () -> new URL("http://127.0.0.1:" + marked.getPort() + "/").openStream());
                accepted.write(ByteBuffer.allocate(3));
                oldAccepted.write(new byte[3]);
                try (Socket to = new Socket("localhost", allowed.getPort())) {
                    to.getOutputStream().write(1);
                }
                try (Mark.Scope claim = Mark.open(null)) {
                    stream.write(7);
                }
                refused("after a claim", () -> stream.write(7));
            }
            Thread.sleep(200);
            Jvms.check(client.read(ByteBuffer.allocate(9)) == 3 && oldClient.getInputStream().read(new byte[9]) == 3, "no answer");
            Jvms.check(RECEIVED.get() == before + 2, "bytes passed: " + (RECEIVED.get() - before));
            System.exit(0);
        }

        private static void refused(String what, Io io) throws IOException {
            try {
                io.run();
                throw new AssertionError(what + " passes");
            } catch (ShadowRefused expected) {
                Jvms.check(expected.getMessage().contains("no plugin has claimed"), expected.getMessage());
            }
        }

        /** Counts what arrives. */
        private static InetSocketAddress sink(int port) throws IOException {
            ServerSocket server = new ServerSocket(port);
            daemon(() -> {
                while (true) {
                    InputStream in = server.accept().getInputStream();
                    daemon(() -> {
                        while (in.read() >= 0) {
                            RECEIVED.incrementAndGet();
                        }
                    });
                }
            });
            return new InetSocketAddress("127.0.0.1", server.getLocalPort());
        }

        private static void daemon(Io io) {
            Thread thread = new Thread(() -> {
                try {
                    io.run();
                } catch (IOException closed) {
                    // by the end of the program
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
    }
}
