package weir.probe.plugin.socket;

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

/** Handlers for marked threads: go on, or refuse. */
public final class Guard {
    /** {@code SocketImpl.toString()}, the one public way to its addresses. */
    private static final Pattern SOCKET = Pattern.compile("Socket\\[addr=.*?/([^,]*),port=(\\d+),localport=(\\d+)]");
    private static final String[] TABLES = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
    private static final String LISTENING = "0A";

    private static volatile Set<Integer> listening = Collections.emptySet();
    private static volatile Set<String> allowed = Collections.emptySet();
    private static volatile long revision = -1;

    private Guard() {}

    public static boolean connect(SocketAddress address) {
        return pass(allowed(address), "open a connection to", address);
    }

    /** From JDK 13: the stream of a socket. */
    public static boolean write(Object stream) throws IOException, ReflectiveOperationException {
        Socket socket = (Socket) Fields.get(stream, "parent");
        return write(socket.getLocalPort(), (InetSocketAddress) socket.getRemoteSocketAddress());
    }

    /** JDK 8 to 12: the stream of a socket's implementation. */
    public static boolean writeStream(Object stream) throws IOException, ReflectiveOperationException {
        Object socket = Fields.get(stream, "impl");
        Matcher fields = SOCKET.matcher(socket.toString());
        return fields.matches() ? write(Integer.parseInt(fields.group(3)), new InetSocketAddress(fields.group(1), Integer.parseInt(fields.group(2))))
                : pass(false, "write to", socket);
    }

    private static boolean write(int localPort, InetSocketAddress remote) throws IOException {
        return pass(isAccepted(localPort) || allowed(remote), "write to", remote);
    }

    public static boolean writeChannel(SocketChannel channel) throws IOException {
        SocketAddress local = channel.getLocalAddress();
        SocketAddress remote = channel.getRemoteAddress();
        boolean accepted = local instanceof InetSocketAddress ? isAccepted(((InetSocketAddress) local).getPort())
                : local != null && !local.toString().isEmpty(); // a path: only the listening side of a Unix socket has one
        return pass(accepted || allowed(remote), "write to", remote);
    }

    /** Whether answers to clients can be told from calls. */
    public static String check() {
        return Files.isReadable(Paths.get(TABLES[0])) || Settings.section("listen") != null ? null
                : "this system does not tell its listening ports: list them as shadow.listen";
    }

    /** What a handler answers: false, go on. */
    private static boolean pass(boolean may, String what, Object address) {
        if (!may) {
            throw new ShadowRefused("socket: shadow traffic may not " + what + ' ' + address + ", which no plugin has claimed");
        }
        return false;
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

    private static boolean allowed(SocketAddress address) {
        if (!(address instanceof InetSocketAddress)) {
            return false;
        }
        if (revision != Settings.revision()) {
            read();
        }
        InetSocketAddress internet = (InetSocketAddress) address;
        InetAddress ip = internet.getAddress();
        return allowed(internet.getHostString(), internet.getPort()) || ip != null && allowed(ip.getHostAddress(), internet.getPort());
    }

    private static boolean allowed(String host, int port) {
        return allowed.contains(host) || allowed.contains(host + ':' + port);
    }

    /** {@code shadow.allow}: {@code host:port} or {@code host}, by name and by each address that the name has now. */
    private static synchronized void read() {
        long read = Settings.revision();
        Set<String> next = new HashSet<>();
        Object section = Settings.section("allow");
        for (Object each : section instanceof List ? (List<?>) section : Collections.emptyList()) {
            String entry = each.toString();
            next.add(entry);
            int colon = entry.matches("[^:]*:\\d+|\\[.*]:\\d+") ? entry.lastIndexOf(':') : entry.length();
            try {
                for (InetAddress address : InetAddress.getAllByName(entry.substring(0, colon).replaceAll("[\\[\\]]", ""))) {
                    next.add(address.getHostAddress() + entry.substring(colon));
                }
            } catch (UnknownHostException unknown) {
                // by name only
            }
        }
        allowed = next;
        revision = read;
    }
}
