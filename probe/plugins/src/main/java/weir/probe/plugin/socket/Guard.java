package weir.probe.plugin.socket;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import weir.probe.api.Fields;
import weir.probe.api.Settings;
import weir.probe.boot.ShadowRefused;

/** Handlers for marked threads: go on (false), or refuse. */
public final class Guard {
    /** {@code SocketImpl.toString()}, the one public way to its addresses. */
    private static final Pattern SOCKET = Pattern.compile("Socket\\[addr=.*?/([^,]*),port=(\\d+),localport=(\\d+)]");
    private static final String[] TABLES = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
    private static final String LISTENING = "0A";
    /** Where the plugins for HTTP clients have put the mark into what is sent. */
    private static final String[] LIBRARIES = {"org.apache.http.impl.execchain.MainClientExec", "org.apache.http.impl.execchain.MinimalClientExec",
        "jdk.internal.net.http."};

    private static volatile Set<Integer> listening = Collections.emptySet();
    private static volatile Set<String> allowed = Collections.emptySet();
    private static volatile Set<String> sockets = Collections.emptySet();
    private static volatile long revision = -1;

    private Guard() {}

    public static boolean connect(SocketAddress address) {
        if (!may(address)) {
            throw refusal("open a connection to", address);
        }
        return false;
    }

    /** From JDK 13: the stream of a socket. */
    public static boolean write(Object stream) throws IOException, ReflectiveOperationException {
        Socket socket = (Socket) Fields.get(stream, "parent");
        return write(socket.getLocalPort(), socket.getRemoteSocketAddress(), socket);
    }

    /** JDK 8 to 12: the stream of a socket's implementation. */
    public static boolean writeStream(Object stream) throws IOException, ReflectiveOperationException {
        Object socket = Fields.get(stream, "impl");
        Matcher fields = SOCKET.matcher(socket.toString());
        int port = fields.matches() ? Integer.parseInt(fields.group(3)) : 0;
        SocketAddress remote = fields.matches() ? new InetSocketAddress(fields.group(1), Integer.parseInt(fields.group(2))) : null;
        return write(port, remote, (Closeable) Fields.get(socket, "socket"));
    }

    public static boolean writeChannel(SocketChannel channel) throws IOException {
        SocketAddress local = channel.getLocalAddress();
        if (!(local instanceof InetSocketAddress) && local != null && !local.toString().isEmpty()) {
            return false; // a path: only the listening side of a Unix socket has one
        }
        return write(local instanceof InetSocketAddress ? ((InetSocketAddress) local).getPort() : 0, channel.getRemoteAddress(), channel);
    }

    /**
     * A refused write ends the connection: what was to be written stays in the buffers of the library above, which would send
     * it with the next business call.
     */
    private static boolean write(int localPort, SocketAddress remote, Closeable connection) throws IOException {
        if (!listening.contains(localPort) && !may(remote) && !isAccepted(localPort)) {
            if (connection != null) {
                connection.close();
            }
            throw refusal("write to", remote);
        }
        return false;
    }

    /** Whether answers to clients can be told from calls. */
    public static String check() {
        return Files.isReadable(Paths.get(TABLES[0])) || Settings.section("listen") != null ? null
                : "this system does not tell its listening ports: list them as shadow.listen";
    }

    private static ShadowRefused refusal(String what, Object address) {
        return new ShadowRefused("socket: shadow traffic may not " + what + ' ' + address + ", which no plugin has claimed");
    }

    /** An accepted connection has the listening port at this end; a connection that this JVM opened never has. */
    private static boolean isAccepted(int localPort) throws IOException {
        if (listening.contains(localPort)) {
            return true;
        }
        Set<Integer> now = new HashSet<>();
        Object configured = Settings.section("listen");
        for (Object port : configured instanceof List ? (List<?>) configured : Collections.emptyList()) {
            now.add(((Number) port).intValue());
        }
        for (String table : TABLES) {
            Path path = Paths.get(table);
            if (Files.isReadable(path)) {
                for (String line : Files.readAllLines(path, StandardCharsets.US_ASCII)) {
                    String[] columns = line.trim().split("\\s+");
                    if (columns.length > 3 && columns[3].equals(LISTENING)) {
                        now.add(Integer.parseInt(columns[1].substring(columns[1].indexOf(':') + 1), 16));
                    }
                }
            }
        }
        listening = now;
        return now.contains(localPort);
    }

    /**
     * {@code shadow.sockets} are for all; {@code shadow.allow} is for libraries that send the mark: at a service that does not get
     * it, shadow traffic would be business traffic.
     */
    private static boolean may(SocketAddress address) {
        if (!(address instanceof InetSocketAddress)) {
            return false;
        }
        if (revision != Settings.revision()) {
            read();
        }
        return is(address, sockets) || is(address, allowed) && claimed();
    }

    private static boolean is(SocketAddress address, Set<String> set) {
        InetSocketAddress internet = (InetSocketAddress) address;
        InetAddress ip = internet.getAddress();
        return is(internet.getHostString(), internet.getPort(), set) || ip != null && is(ip.getHostAddress(), internet.getPort(), set);
    }

    private static boolean is(String host, int port, Set<String> set) {
        return set.contains(host) || set.contains(host + ':' + port);
    }

    /** Whether a library that a plugin knows is at work; its callers and what it calls are the application's. */
    private static boolean claimed() {
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            for (String library : LIBRARIES) {
                if (frame.getClassName().startsWith(library)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static synchronized void read() {
        long read = Settings.revision();
        allowed = addresses("allow");
        sockets = addresses("sockets");
        revision = read;
    }

    /** {@code host:port} or {@code host}, by name and by each address that the name has now. */
    private static Set<String> addresses(String key) {
        Set<String> addresses = new HashSet<>();
        Object section = Settings.section(key);
        for (Object each : section instanceof List ? (List<?>) section : Collections.emptyList()) {
            String entry = each.toString();
            addresses.add(entry);
            int colon = entry.matches("[^:]*:\\d+|\\[.*]:\\d+") ? entry.lastIndexOf(':') : entry.length();
            try {
                for (InetAddress address : InetAddress.getAllByName(entry.substring(0, colon).replaceAll("[\\[\\]]", ""))) {
                    addresses.add(address.getHostAddress() + entry.substring(colon));
                }
            } catch (UnknownHostException unknown) {
                // by name only
            }
        }
        return addresses;
    }
}
