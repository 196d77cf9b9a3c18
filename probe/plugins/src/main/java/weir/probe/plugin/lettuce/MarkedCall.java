package weir.probe.plugin.lettuce;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.output.MultiOutput;
import io.lettuce.core.protocol.RedisCommand;
import java.util.Collection;
import java.util.Collections;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/**
 * A marked thread's call of a connection's {@code dispatch}. If it is refused, the connection's transaction ends with it: the
 * connection may be business's next, whose commands would be queued in that transaction. Around the whole method, because the
 * connection changes its own state before the command comes to the place where it is refused, and in old versions after.
 */
public final class MarkedCall {
    private final StatefulRedisConnection<?, ?> connection;
    private final Object commands;

    private MarkedCall(StatefulRedisConnection<?, ?> connection, Object commands) {
        this.connection = connection;
        this.commands = commands;
    }

    public static Object enter(StatefulRedisConnection<?, ?> connection, Object commands) {
        if (!Mark.accepting() && connection.isMulti() && commands instanceof RedisCommand
                && Commands.name((RedisCommand<?, ?, ?>) commands).equals("DISCARD")) {
            Servers.closed((RedisChannelHandler<?, ?>) connection);
            return Mark.open(null); // goes through: pools discard what is open in a connection that comes back, and would lose it
        }
        return new MarkedCall(connection, commands);
    }

    public static void exit(Object token, Throwable thrown) {
        if (token instanceof Mark.Scope) {
            ((Mark.Scope) token).close();
        } else if (thrown instanceof ShadowRefused) {
            ((MarkedCall) token).refused();
        }
    }

    private void refused() {
        boolean open = connection.isMulti();
        for (Object each : commands instanceof Collection ? (Collection<?>) commands : Collections.singleton(commands)) {
            RedisCommand<?, ?, ?> command = (RedisCommand<?, ?, ?>) each;
            String name = Commands.name(command);
            open |= name.equals("EXEC") || name.equals("DISCARD"); // the connection takes it for sent
            Object output = command.getOutput();
            if (output instanceof MultiOutput) { // of an EXEC: futures of queued commands
                ((MultiOutput<?, ?>) output).cancel();
            }
        }
        if (open) {
            Servers.closed((RedisChannelHandler<?, ?>) connection); // in which the shadow server has the transaction
            try (Mark.Scope hidden = Mark.open(null)) {
                connection.async().discard(); // where no transaction is open the server answers with an error, which nobody reads
            }
        }
    }
}
