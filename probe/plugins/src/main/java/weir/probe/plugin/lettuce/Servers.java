package weir.probe.plugin.lettuce;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import weir.probe.api.Settings;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** Connections to the shadow server: one for each business connection, so order and transactions stay its own. */
public final class Servers {
    private static final long LIMIT_S = 5;

    private static final Set<RedisChannelHandler<?, ?>> SEEN = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private static final Map<RedisChannelHandler<?, ?>, StatefulRedisConnection<byte[], byte[]>> SHADOWS = new WeakHashMap<>();
    private static String server = "";
    private static RedisClient client;

    private Servers() {}

    /** Handler for all threads. */
    public static boolean see(RedisChannelHandler<?, ?> connection) {
        SEEN.add(connection);
        return false;
    }

    /** Handler for all threads: the connection to the shadow server goes with that to the business server. */
    public static boolean closed(RedisChannelHandler<?, ?> connection) {
        StatefulRedisConnection<byte[], byte[]> shadow;
        synchronized (Servers.class) {
            shadow = SHADOWS.remove(connection);
        }
        if (shadow != null) {
            shadow.closeAsync();
        }
        return false;
    }

    /** Whether the shadow server answers and is another one than those in use. */
    public static String check() {
        String configured = Settings.text("redis", "server", "");
        if (configured.isEmpty()) {
            return Settings.text("redis", "prefix", "").isEmpty() ? "neither shadow.redis.prefix nor shadow.redis.server is configured" : null;
        }
        List<RedisChannelHandler<?, ?>> known;
        synchronized (SEEN) {
            known = new ArrayList<>(SEEN);
        }
        close();
        try (StatefulRedisConnection<byte[], byte[]> any = client(configured).connect(ByteArrayCodec.INSTANCE)) {
            for (RedisChannelHandler<?, ?> connection : known) {
                if (connection.isOpen() && connection instanceof StatefulRedisConnection
                        && !(connection instanceof StatefulRedisPubSubConnection)
                        && run((StatefulRedisConnection<?, ?>) connection).equals(run(any))) {
                    return "the shadow server is the business server";
                }
            }
            return null;
        } catch (Exception e) {
            return "the shadow server cannot be used: " + (e.getCause() == null ? e : e.getCause()).getMessage();
        }
    }

    /** Ends all connections to the shadow server. */
    public static synchronized void close() {
        SHADOWS.clear();
        if (client != null) {
            client.shutdown(0, LIMIT_S, TimeUnit.SECONDS);
            client = null;
        }
    }

    static synchronized RedisChannelWriter shadow(RedisChannelHandler<?, ?> business, String configured) throws Exception {
        if (business instanceof StatefulRedisClusterConnection || !(business instanceof StatefulRedisConnection)
                || business instanceof StatefulRedisPubSubConnection) {
            throw new ShadowRefused("lettuce: a shadow server is for plain connections; use a prefix");
        }
        if (!configured.equals(server)) {
            close();
        }
        StatefulRedisConnection<byte[], byte[]> shadow = SHADOWS.get(business);
        if (shadow == null) {
            try (Mark.Scope hidden = Mark.open(null)) { // the client's threads would inherit it
                shadow = client(configured).connect(ByteArrayCodec.INSTANCE);
                if (run(shadow).equals(run((StatefulRedisConnection<?, ?>) business))) {
                    throw new ShadowRefused("lettuce: the shadow server is the business server");
                }
            }
            SHADOWS.put(business, shadow);
        }
        return ((RedisChannelHandler<?, ?>) shadow).getChannelWriter();
    }

    private static synchronized RedisClient client(String configured) {
        if (client == null) {
            client = RedisClient.create(configured);
            client.setDefaultTimeout(java.time.Duration.ofSeconds(LIMIT_S));
            server = configured;
        }
        return client;
    }

    /** What a server process calls itself, whatever the address. */
    private static String run(StatefulRedisConnection<?, ?> connection) throws Exception {
        for (String line : connection.async().info("server").get(LIMIT_S, TimeUnit.SECONDS).split("\r?\n")) {
            if (line.startsWith("run_id:")) {
                return line;
            }
        }
        throw new IllegalStateException("the server does not tell its run_id");
    }
}
