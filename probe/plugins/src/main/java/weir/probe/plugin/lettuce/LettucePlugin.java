package weir.probe.plugin.lettuce;

import static weir.probe.api.JoinPoint.THIS;

import java.util.Arrays;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * Commands of marked threads get prefixed keys, or go to a shadow server. Both overloads of {@code dispatch} are where all
 * kinds of connections hand commands on, on the caller's thread. Around it, another join point ends the transaction of a
 * command that is refused. Others see the addresses of connections as they are made, for the check that the shadow server
 * is another one, and connections as they are closed.
 *
 * <p>Not seen: commands dispatched by threads without the mark, so reactive chains that go on from an event loop, and
 * messages that arrive by publish and subscribe. Key names in answers keep the prefix.
 */
public final class LettucePlugin implements Plugin {
    private static final String HANDLER = "io.lettuce.core.RedisChannelHandler";
    private static final String MAKE = "io.lettuce.core.AbstractRedisClient#connectionBuilder"
            + "(Lreactor/core/publisher/Mono;Lio/lettuce/core/ConnectionBuilder;";

    @Override
    public String name() {
        return "lettuce";
    }

    @Override
    public String library() {
        return "lettuce-core 5.1 to 6";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Arrays.asList(
                JoinPoint.enter("dispatch", HANDLER + "#dispatch", "Commands.dispatch").passing(THIS, 0),
                JoinPoint.around("refused", "io.lettuce.core.StatefulRedisConnectionImpl#dispatch", "MarkedCall").passing(THIS, 0)
                        .lasting(),
                JoinPoint.enter("see", MAKE + "Lio/lettuce/core/RedisURI;)V", "Servers.see").passing(1, 2).gate(Gate.ALWAYS)
                        .expecting("io.lettuce.core.ConnectionBuilder.connection()Lio/lettuce/core/RedisChannelHandler;"),
                JoinPoint.enter("see-events", MAKE + "Lio/lettuce/core/ConnectionEvents;Lio/lettuce/core/RedisURI;)V", "Servers.see")
                        .passing(1, 3).gate(Gate.ALWAYS).optional(), // from 6.2
                JoinPoint.enter("close", HANDLER + "#closeAsync()*", "Servers.closed").passing(THIS).gate(Gate.ALWAYS).optional());
    }

    @Override
    public List<String> expects() {
        return Arrays.asList(HANDLER + ".getChannelWriter()Lio/lettuce/core/RedisChannelWriter;",
                "io.lettuce.core.RedisChannelWriter.write(Lio/lettuce/core/protocol/RedisCommand;)Lio/lettuce/core/protocol/RedisCommand;",
                "io.lettuce.core.protocol.CommandArgs.encode(Lio/netty/buffer/ByteBuf;)V",
                "io.lettuce.core.protocol.CommandArgs.addKey(Ljava/lang/Object;)Lio/lettuce/core/protocol/CommandArgs;",
                "io.lettuce.core.protocol.CommandWrapper.encode(Lio/netty/buffer/ByteBuf;)V");
    }

    @Override
    public String check() {
        return "Servers";
    }
}
