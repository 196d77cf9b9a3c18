package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ZAddArgs;
import io.lettuce.core.ZStoreArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

@Tag("slow")
class LettuceTest {
    @TempDir
    Path dir;

    @Test
    void marked_commands_touch_prefixed_keys_alone() throws Exception {
        assumeTrue(Servers.hasRedis(), "Redis is not installed");
        try (Servers server = Servers.redis(dir)) {
            run("\"prefix\": \"s:\"", "prefix", url(server), url(server));
        }
    }

    @Test
    void marked_commands_reach_the_shadow_server_alone() throws Exception {
        assumeTrue(Servers.hasRedis(), "Redis is not installed");
        try (Servers server = Servers.redis(dir); Servers shadow = Servers.redis(dir)) {
            run("\"server\": \"" + url(shadow) + '"', "server", url(server), url(shadow));
        }
    }

    @Test
    void a_shadow_server_that_is_none_is_refused() throws Exception {
        assumeTrue(Servers.hasRedis(), "Redis is not installed");
        try (Servers server = Servers.redis(dir)) {
            String same = url(server).replace("127.0.0.1", "localhost") + "/1";
            assertTrue(run("\"server\": \"" + same + '"', "refused", url(server), "-").contains("is the business server"));
            assertTrue(run("\"server\": \"redis://127.0.0.1:1\"", "refused", url(server), "-").contains("cannot be used"));
            assertTrue(run("\"none\": 1", "refused", url(server), "-").contains("is configured"));
        }
    }

    @Test
    void a_refused_command_leaves_no_transaction_open() throws Exception {
        assumeTrue(Servers.hasRedis(), "Redis is not installed");
        try (Servers server = Servers.redis(dir); Servers shadow = Servers.redis(dir)) {
            run(Transactions.class, "\"prefix\": \"s:\"", url(server));
            run(Transactions.class, "\"server\": \"" + url(shadow) + '"', url(server));
        }
    }

    @Test
    void a_shadow_server_that_stands_still_stalls_no_business() throws Exception {
        assumeTrue(Servers.hasRedis(), "Redis is not installed");
        try (Servers server = Servers.redis(dir); Servers shadow = Servers.redis(dir)) {
            run(Stalled.class, "\"server\": \"" + url(shadow) + '"', url(server), url(shadow));
        }
    }

    private static String url(Servers server) {
        return "redis://127.0.0.1:" + server.port;
    }

    private String run(String redis, String... arguments) throws Exception {
        return run(Program.class, redis, arguments);
    }

    private String run(Class<?> program, String redis, String... arguments) throws Exception {
        Path config = dir.resolve("probe.json");
        Files.write(config, ("{\"shadow\": {\"redis\": {" + redis + "}}}").getBytes());
        return Jvms.of(System.getProperty("java.home")).agent("config=" + config).run(program, arguments);
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            RedisClient client = RedisClient.create(arguments[1]);
            StatefulRedisConnection<String, String> connection = client.connect();
            RedisCommands<String, String> redis = connection.sync();
            redis.set("a", "business");
            client.connect().async().blpop(0L, "none");
            redis.multi();
            redis.get("a");
            String armed = Probes.command("arm");
            System.out.println(armed);
            Jvms.check(redis.exec().size() == 1, "the check takes part in a business transaction");
            if (arguments[0].equals("refused")) {
                Jvms.check(armed.contains("lettuce: ") && !armed.contains("lettuce: ready"), "nothing is found");
                System.exit(0);
            }
            boolean prefix = arguments[0].equals("prefix");
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                Jvms.check(redis.get("a") == null, "business data are read");
                redis.set("a", "shadow");
                redis.mset(Collections.singletonMap("b", "2"));
                redis.zadd("z", ZAddArgs.Builder.nx(), 1.0, "m");
                redis.zunionstore("u", ZStoreArgs.Builder.sum(), "z", "z2");
                redis.xadd("x", Collections.singletonMap("k", "v"));
                Jvms.check(redis.xread(io.lettuce.core.XReadArgs.StreamOffset.from("x", "0")).size() == 1, "the stream is not read");
                redis.multi();
                redis.incr("n");
                redis.incr("n");
                Jvms.check(redis.exec().<Long>get(1) == 2, "the transaction is broken");
                Jvms.check(redis.get("a").equals("shadow") && redis.mget("a", "b").size() == 2 && redis.del("b") == 1, "keys differ");
                if (prefix) {
                    refused("FLUSHALL", redis::flushall);
                    refused("KEYS", () -> redis.keys("*"));
                    refused("EVAL", () -> redis.eval("return redis.call('set', 'a', 'leak')", io.lettuce.core.ScriptOutputType.STATUS));
                    refused("SELECT", () -> redis.select(1));
                    redis.multi();
                    refused("FLUSHALL", redis::flushall);
                    Jvms.check(!connection.isMulti(), "a transaction stays open");
                }
            }
            Jvms.check(redis.get("a").equals("business"), "a business key is written");
            Set<String> shadow = new HashSet<>(Arrays.asList("a", "z", "u", "n", "x"));
            Set<String> wanted = new HashSet<>(Collections.singleton("a"));
            if (prefix) {
                shadow.forEach(key -> wanted.add("s:" + key));
            } else {
                Set<String> there = new HashSet<>(RedisClient.create(arguments[2]).connect().sync().keys("*"));
                Jvms.check(there.equals(shadow), "shadow keys are " + there);
            }
            Set<String> all = new HashSet<>(redis.keys("*"));
            Jvms.check(all.equals(wanted), "keys are " + all);
            if (!prefix) {
                RedisCommands<String, String> there = RedisClient.create(arguments[2]).connect().sync();
                int before = there.clientList().split("\n").length;
                connection.close();
                for (int i = 0; i < 500 && there.clientList().split("\n").length == before; i++) {
                    Thread.sleep(10);
                }
                Jvms.check(there.clientList().split("\n").length < before, "the connection to the shadow server stays open");
            }
            System.exit(0);
        }

        private static void refused(String what, Runnable command) {
            try {
                command.run();
                throw new AssertionError(what + " passes");
            } catch (ShadowRefused expected) {
                Jvms.check(expected.getMessage().contains("the keys of " + what + " are unknown"), expected.getMessage());
            }
        }
    }

    /** Each command of a marked transaction is the first that comes after the probe is disarmed. */
    static final class Transactions {
        public static void main(String[] arguments) throws Exception {
            StatefulRedisConnection<String, String> connection = RedisClient.create(arguments[0]).connect();
            RedisCommands<String, String> redis = connection.sync();
            Map<String, Runnable> commands = new LinkedHashMap<>();
            commands.put("MULTI", redis::multi);
            commands.put("INCR", () -> redis.incr("n"));
            commands.put("EXEC", redis::exec);
            commands.put("DISCARD", () -> connection.async().discard());
            for (Map.Entry<String, Runnable> command : commands.entrySet()) {
                String name = command.getKey();
                String armed = Probes.command("arm");
                Jvms.check(armed.startsWith("armed"), armed);
                try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                    if (!name.equals("MULTI")) {
                        redis.multi();
                        redis.incr("n");
                    }
                    Probes.command("disarm");
                    boolean refused = false;
                    try {
                        command.getValue().run();
                    } catch (ShadowRefused e) {
                        refused = true;
                    }
                    Jvms.check(refused != name.equals("DISCARD"), name + (refused ? " is refused" : " passes"));
                }
                Jvms.check(!connection.isMulti(), name + ": a transaction stays open");
                redis.set("a", name);
                Jvms.check(name.equals(redis.get("a")), name + ": business commands are queued");
                Jvms.check(redis.exists("n", "s:n") == 0, name + ": the transaction is carried out");
            }
            System.exit(0);
        }
    }

    static final class Stalled {
        public static void main(String[] arguments) throws Exception {
            RedisClient client = RedisClient.create(arguments[0]);
            StatefulRedisConnection<String, String> first = client.connect();
            StatefulRedisConnection<String, String> second = client.connect();
            StatefulRedisConnection<String, String> third = client.connect();
            String armed = Probes.command("arm");
            Jvms.check(armed.startsWith("armed"), armed);
            RedisCommands<String, String> shadow = RedisClient.create(arguments[1]).connect().sync();
            String pid = shadow.info("server").replaceAll("(?s).*process_id:(\\d+).*", "$1");
            int before = connections(shadow);
            signal("-STOP", pid);
            Thread marked = new Thread(() -> refused(first));
            marked.start();
            Thread.sleep(1000);
            second.close();
            client.connect().sync().set("a", "business");
            Jvms.check(marked.isAlive(), "business waits for the shadow server");
            marked.join();
            refused(third);
            signal("-CONT", pid);
            connections(shadow); // those that waited are accepted before the next question is answered
            int made = connections(shadow) - before;
            Jvms.check(made == 1, "the failure is forgotten: " + made + " connections to the shadow server");
            Thread.sleep(3500);
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                Jvms.check(third.sync().get("a") == null, "business data are read");
            }
            System.exit(0);
        }

        private static void refused(StatefulRedisConnection<String, String> connection) {
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                connection.sync().get("a");
                throw new AssertionError("a marked command passes");
            } catch (ShadowRefused expected) {
                Jvms.check(expected.getMessage().contains("cannot be used"), expected.getMessage());
            }
        }

        private static int connections(RedisCommands<String, String> server) {
            return Integer.parseInt(server.info("stats").replaceAll("(?s).*total_connections_received:(\\d+).*", "$1"));
        }

        private static void signal(String name, String pid) throws Exception {
            new ProcessBuilder("kill", name, pid).start().waitFor();
        }
    }
}
