package weir.probe.plugin.lettuce;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import weir.probe.api.Log;
import weir.probe.api.Settings;
import weir.probe.boot.ShadowRefused;

/**
 * A shadow server and the connections to it, one for each business connection. Nothing here waits for a server with a lock
 * held, as business threads and event loops close connections meanwhile; marked threads alone wait, outside event loops.
 */
final class ShadowServer {
    static final long LIMIT_S = 5;
    /** How long a failure refuses marked commands that need a new connection. */
    private static final long RETRY_NS = 3_000_000_000L;

    final String configured;
    /** This very object is in no business connection. */
    final RedisURI address;
    private final RedisClient client;
    private final Map<RedisChannelHandler<?, ?>, CompletableFuture<StatefulRedisConnection<byte[], byte[]>>> connections =
            Collections.synchronizedMap(new WeakHashMap<>());
    /** What business servers call themselves. */
    private final Map<RedisURI, CompletableFuture<String>> runs = new ConcurrentHashMap<>();
    private volatile String failure = "";
    private volatile long failedNs;

    ShadowServer(String configured) {
        this.configured = configured;
        address = RedisURI.create(configured);
        address.setTimeout(Duration.ofSeconds(LIMIT_S));
        client = RedisClient.create(address);
    }

    /** The connection for the commands of a business connection. */
    StatefulRedisConnection<byte[], byte[]> connection(RedisChannelHandler<?, ?> business) {
        CompletableFuture<StatefulRedisConnection<byte[], byte[]>> made = connections.get(business);
        if (made == null) {
            if (!failure.isEmpty() && System.nanoTime() - failedNs < RETRY_NS) {
                throw refusal();
            }
            made = new CompletableFuture<>();
            CompletableFuture<StatefulRedisConnection<byte[], byte[]>> other = connections.putIfAbsent(business, made);
            if (other == null) {
                make(business, made);
            } else {
                made = other;
            }
        }
        if (!made.isDone() && Thread.currentThread() instanceof FastThreadLocalThread) {
            throw new ShadowRefused("lettuce: the connection to the shadow server is not there yet, and an event loop does not wait");
        }
        try {
            return made.get(LIMIT_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ShadowRefused("lettuce: interrupted while a connection to the shadow server was made");
        } catch (ExecutionException | TimeoutException e) {
            made.completeExceptionally(e);
            connections.remove(business, made);
            failedNs = System.nanoTime();
            failure = text(e);
            throw refusal();
        }
    }

    private ShadowRefused refusal() {
        String text = "lettuce: the shadow server cannot be used: " + failure;
        Log.sometimes("redis", text);
        return new ShadowRefused(text);
    }

    /** Opens a connection and completes {@code made} with it, unless the threads that wait have given up. */
    private void make(RedisChannelHandler<?, ?> business, CompletableFuture<StatefulRedisConnection<byte[], byte[]>> made) {
        try {
            CompletableFuture<String> theirs = businessRunId(business, Servers.address(business));
            connect().thenCompose(own -> runId(own).thenCombine(theirs, (here, there) -> {
                if (here.equals(there)) {
                    throw new IllegalStateException("it is the business server");
                }
                return own;
            }).whenComplete((checked, e) -> {
                if (e != null || !made.complete(own)) {
                    own.closeAsync();
                }
            })).whenComplete((own, e) -> {
                if (e != null) {
                    made.completeExceptionally(e);
                }
            });
        } catch (RuntimeException e) {
            made.completeExceptionally(e);
        }
    }

    private CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connect() {
        return client.connectAsync(ByteArrayCodec.INSTANCE, address).toCompletableFuture();
    }

    /** What this server calls itself. */
    CompletableFuture<String> ownRunId() {
        return connect().thenCompose(own -> runId(own).whenComplete((run, e) -> own.closeAsync()));
    }

    /**
     * What the server of a business connection calls itself. It is asked over another connection to the same address: in the
     * business's own, the question could become part of a transaction, or wait behind a command that blocks.
     */
    CompletableFuture<String> businessRunId(RedisChannelHandler<?, ?> business, RedisURI theirs) {
        if (theirs == null) { // made before the probe was attached
            if (((StatefulRedisConnection<?, ?>) business).isMulti()) {
                throw new IllegalStateException("a connection that was made before the probe was attached is in a transaction");
            }
            return runId((StatefulRedisConnection<?, ?>) business);
        }
        CompletableFuture<String> known = runs.get(theirs);
        if (known == null || known.isCompletedExceptionally()) {
            RedisClient asking = RedisClient.create(business.getResources(), theirs);
            asking.setOptions(business.getOptions().mutate().autoReconnect(false)
                    .timeoutOptions(TimeoutOptions.enabled(Duration.ofSeconds(LIMIT_S))).build());
            known = asking.connectAsync(ByteArrayCodec.INSTANCE, theirs).toCompletableFuture().thenCompose(ShadowServer::runId)
                    .whenComplete((run, e) -> asking.shutdownAsync(0, LIMIT_S, TimeUnit.SECONDS));
            runs.put(theirs, known);
        }
        return known;
    }

    /** What a server process calls itself, whatever the address. */
    private static CompletableFuture<String> runId(StatefulRedisConnection<?, ?> connection) {
        return connection.async().info("server").toCompletableFuture().thenApply(info -> {
            for (String line : info.split("\r?\n")) {
                if (line.startsWith("run_id:")) {
                    return line;
                }
            }
            throw new IllegalStateException("the server does not tell its run_id");
        });
    }

    /** The reason at the bottom of an exception. */
    static String text(Throwable e) {
        Throwable cause = e;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return Settings.withoutSecrets(cause.getMessage() == null ? cause.toString() : cause.getMessage());
    }

    /** Closes the connection that belongs to a business connection. */
    void forget(RedisChannelHandler<?, ?> business) {
        CompletableFuture<StatefulRedisConnection<byte[], byte[]>> made = connections.remove(business);
        if (made != null) {
            made.thenAccept(own -> own.closeAsync());
        }
    }

    /** Ends all connections. */
    CompletableFuture<Void> close() {
        return client.shutdownAsync(0, LIMIT_S, TimeUnit.SECONDS);
    }
}
