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

    private static String url(Servers server) {
        return "redis://127.0.0.1:" + server.port;
    }

    private String run(String redis, String... arguments) throws Exception {
        Path config = dir.resolve("probe.json");
        Files.write(config, ("{\"shadow\": {\"redis\": {" + redis + "}}}").getBytes());
        return Jvms.of(System.getProperty("java.home")).agent("config=" + config).run(Program.class, arguments);
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            StatefulRedisConnection<String, String> connection = RedisClient.create(arguments[1]).connect();
            RedisCommands<String, String> redis = connection.sync();
            redis.set("a", "business");
            String armed = Probes.command("arm");
            System.out.println(armed);
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
}
