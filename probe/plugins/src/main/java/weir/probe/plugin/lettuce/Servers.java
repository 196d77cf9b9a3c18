package weir.probe.plugin.lettuce;

import io.lettuce.core.ConnectionBuilder;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import weir.probe.api.Settings;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** The addresses of business connections, and the shadow server that is configured. */
public final class Servers {
    private static final Map<RedisChannelHandler<?, ?>, RedisURI> SEEN = Collections.synchronizedMap(new WeakHashMap<>());
    private static volatile ShadowServer current;

    private Servers() {}

    /** Handler for all threads: a connection is about to be made. */
    public static boolean see(ConnectionBuilder builder, RedisURI address) {
        ShadowServer shadow = current;
        if (builder.connection() != null && (shadow == null || shadow.address != address)) {
            SEEN.put(builder.connection(), address);
        }
        return false;
    }

    /** Handler for all threads: the connection to the shadow server goes with that to the business server. */
    public static boolean closed(RedisChannelHandler<?, ?> connection) {
        ShadowServer shadow = current;
        if (shadow != null) {
            shadow.forget(connection);
        }
        return false;
    }

    /** Null if the connection was made before the probe was attached. */
    static RedisURI address(RedisChannelHandler<?, ?> connection) {
        return SEEN.get(connection);
    }

    /** Whether the shadow server answers and is another one than those in use. */
    public static String check() {
        String configured = Settings.text("redis", "server", "");
        if (configured.isEmpty()) {
            return Settings.text("redis", "prefix", "").isEmpty()
                    ? "neither shadow.redis.prefix nor shadow.redis.server is configured" : null;
        }
        Map<RedisURI, RedisChannelHandler<?, ?>> known = new HashMap<>();
        synchronized (SEEN) {
            SEEN.forEach((connection, address) -> {
                if (connection.isOpen() && connection.getOptions() != null && connection instanceof StatefulRedisConnection) {
                    known.put(address, connection);
                }
            });
        }
        close();
        String asked = "the shadow server cannot be used: ";
        try {
            ShadowServer shadow = server(configured);
            String run = shadow.ownRunId().get(ShadowServer.LIMIT_S, TimeUnit.SECONDS);
            asked = "a business server does not tell which it is: ";
            for (Map.Entry<RedisURI, RedisChannelHandler<?, ?>> each : known.entrySet()) {
                if (run.equals(shadow.businessRunId(each.getValue(), each.getKey()).get(ShadowServer.LIMIT_S, TimeUnit.SECONDS))) {
                    return "the shadow server is the business server";
                }
            }
            return null;
        } catch (Exception e) {
            return asked + ShadowServer.text(e);
        }
    }

    /** Ends all connections to the shadow server. */
    public static void close() {
        ShadowServer shadow;
        synchronized (Servers.class) {
            shadow = current;
            current = null;
        }
        if (shadow != null) {
            shadow.close().join();
        }
    }

    static RedisChannelWriter shadow(RedisChannelHandler<?, ?> business, String configured) {
        if (business instanceof StatefulRedisClusterConnection || !(business instanceof StatefulRedisConnection)
                || business instanceof StatefulRedisPubSubConnection) {
            throw new ShadowRefused("lettuce: a shadow server is for plain connections; use a prefix");
        }
        try (Mark.Scope hidden = Mark.open(null)) { // the client's threads would inherit it
            return ((RedisChannelHandler<?, ?>) server(configured).connection(business)).getChannelWriter();
        }
    }

    private static ShadowServer server(String configured) {
        ShadowServer shadow = current;
        if (shadow != null && shadow.configured.equals(configured)) {
            return shadow;
        }
        synchronized (Servers.class) { // for marked threads and the check alone
            shadow = current;
            if (shadow == null || !shadow.configured.equals(configured)) {
                if (shadow != null) {
                    shadow.close();
                }
                shadow = new ShadowServer(configured);
                current = shadow;
            }
            return shadow;
        }
    }
}
