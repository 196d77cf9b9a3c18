package weir.probe.plugin.lettuce;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandWrapper;
import io.lettuce.core.protocol.RedisCommand;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import weir.probe.api.Settings;
import weir.probe.boot.Cut;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** Sends a marked thread's commands: to the shadow server as they are, or to the business server with other keys. */
public final class Commands {
    private Commands() {}

    /** Handler, for a command and for a collection of them. */
    @SuppressWarnings("unchecked")
    public static boolean dispatch(RedisChannelHandler<?, ?> connection, Object commands) throws Exception {
        String prefix = Settings.text("redis", "prefix", "");
        String server = Settings.text("redis", "server", "");
        if (prefix.isEmpty() && server.isEmpty()) {
            throw new ShadowRefused("lettuce: neither shadow.redis.prefix nor shadow.redis.server is configured");
        }
        RedisChannelWriter writer = server.isEmpty() ? connection.getChannelWriter() : Servers.shadow(connection, server);
        Object sent = commands;
        if (server.isEmpty()) {
            sent = commands instanceof Collection ? prefixed((Collection<RedisCommand<?, ?, ?>>) commands, prefix)
                    : prefixed((RedisCommand<?, ?, ?>) commands, prefix);
        }
        try (Mark.Scope hidden = Mark.open(null)) {
            return Cut.with(sent instanceof Collection
                    ? writer.write((Collection<? extends RedisCommand<Object, Object, ?>>) sent)
                    : writer.write((RedisCommand<Object, Object, Object>) sent));
        }
    }

    private static List<RedisCommand<?, ?, ?>> prefixed(Collection<RedisCommand<?, ?, ?>> commands, String prefix) {
        List<RedisCommand<?, ?, ?>> all = new ArrayList<>(commands.size());
        commands.forEach(command -> all.add(prefixed(command, prefix)));
        return all;
    }

    private static <K, V, T> RedisCommand<K, V, T> prefixed(RedisCommand<K, V, T> command, String prefix) {
        String name = name(command);
        List<byte[]> arguments = arguments(command.getArgs());
        boolean[] keys = Keys.of(name, arguments);
        if (keys == null) {
            throw new ShadowRefused("lettuce: the keys of " + name + " are unknown");
        }
        CommandArgs<byte[], byte[]> next = new CommandArgs<>(ByteArrayCodec.INSTANCE);
        byte[] before = prefix.getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < keys.length; i++) {
            byte[] argument = arguments.get(i);
            if (keys[i]) {
                byte[] key = java.util.Arrays.copyOf(before, before.length + argument.length);
                System.arraycopy(argument, 0, key, before.length, argument.length);
                next.addKey(key);
            } else {
                next.add(argument);
            }
        }
        return new Prefixed<>(command, next);
    }

    static String name(RedisCommand<?, ?, ?> command) {
        return new String(command.getType().getBytes(), StandardCharsets.US_ASCII);
    }

    /** The arguments as they would be sent: strings of RESP. */
    private static List<byte[]> arguments(CommandArgs<?, ?> arguments) {
        List<byte[]> all = new ArrayList<>();
        if (arguments == null) {
            return all;
        }
        ByteBuf buffer = Unpooled.buffer();
        arguments.encode(buffer);
        while (buffer.isReadable()) {
            int end = buffer.indexOf(buffer.readerIndex(), buffer.writerIndex(), (byte) '\r');
            String length = buffer.toString(buffer.readerIndex() + 1, end - buffer.readerIndex() - 1, StandardCharsets.US_ASCII);
            byte[] argument = new byte[Integer.parseInt(length)];
            buffer.readerIndex(end + 2);
            buffer.readBytes(argument).skipBytes(2);
            all.add(argument);
        }
        return all;
    }

    /** A command whose caller waits for the original, sent with other arguments. */
    private static final class Prefixed<K, V, T> extends CommandWrapper<K, V, T> {
        private final CommandArgs<byte[], byte[]> arguments;

        Prefixed(RedisCommand<K, V, T> command, CommandArgs<byte[], byte[]> arguments) {
            super(command);
            this.arguments = arguments;
        }

        @Override
        @SuppressWarnings("unchecked")
        public CommandArgs<K, V> getArgs() {
            return (CommandArgs<K, V>) arguments;
        }

        @Override
        public void encode(ByteBuf buffer) {
            new Command<byte[], byte[], Object>(getType(), null, arguments).encode(buffer);
        }
    }
}
