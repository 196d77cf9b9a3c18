package weir.probe.plugin.socket;

import static weir.probe.api.JoinPoint.THIS;

import java.util.ArrayList;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * The last guard: a marked thread neither opens nor writes to a connection that no plugin answers for. A plugin claims
 * I/O by hiding the mark, {@code Mark.open(null)}, while its library works; where application code runs in between, by its
 * library's classes on the stack, and the address has to be in {@code shadow.allow}. Answers to clients, on connections to a port where this host listens,
 * pass. More than one join point: the JDK has no method through which all of them go.
 *
 * <p>Not seen: what event loops and other unmarked threads do on behalf of marked ones (Netty, the JDK's HttpClient,
 * Kafka's sender), native transports (epoll, io_uring), {@code AsynchronousSocketChannel}, datagrams, name look-ups, files,
 * pipes, child processes, reads, and before JDK 13 a socket whose factory is the application's own {@code SocketImpl}.
 */
public final class SocketPlugin implements Plugin {
    private static final String CHANNEL = "sun.nio.ch.SocketChannelImpl#";
    /** Method and handler; all are optional but the first two, since JDKs differ. */
    private static final String[][] POINTS = {
        {"connect", "java.net.Socket#connect(Ljava/net/SocketAddress;I)V", "Guard.connect"},
        {"channel-connect", CHANNEL + "connect(Ljava/net/SocketAddress;)Z", "Guard.connect"},
        {"adaptor-connect", CHANNEL + "blockingConnect(Ljava/net/SocketAddress;J)V", "Guard.connect"},
        // Not NioSocketImpl: it has lambda expressions, and each retransformation would link them anew, for ever.
        {"write", "java.net.Socket$SocketOutputStream#write([BII)V", "Guard.write"},
        {"write-12", "java.net.SocketOutputStream#socketWrite([BII)V", "Guard.writeStream"},
        {"channel-write", CHANNEL + "write(Ljava/nio/ByteBuffer;)I", "Guard.writeChannel"},
        {"channel-gather", CHANNEL + "write([Ljava/nio/ByteBuffer;II)J", "Guard.writeChannel"},
        {"adaptor-write", CHANNEL + "blockingWriteFully([BII)V", "Guard.writeChannel"},
    };

    @Override
    public String name() {
        return "socket";
    }

    @Override
    public String library() {
        return "JDK 8 to 25";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        List<JoinPoint> points = new ArrayList<>();
        for (String[] point : POINTS) {
            JoinPoint join = JoinPoint.enter(point[0], point[1], point[2]).passing(point[2].equals("Guard.connect") ? 0 : THIS);
            points.add(points.size() < 2 ? join : join.optional());
        }
        return points;
    }

    @Override
    public String check() {
        return "Guard";
    }
}
