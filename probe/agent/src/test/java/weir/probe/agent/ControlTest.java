package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collections;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** The local service of a JVM with the probe, asked over its socket. */
class ControlTest {
    @TempDir
    Path dir;
    private String address;
    private String token;

    @Test
    void only_well_formed_requests_with_the_token_to_an_own_host_are_served() throws Exception {
        try (Jvm jvm = new Jvm("")) {
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(dir.resolve("probes"))));
            String good = "Host: 127.0.0.1:1\r\nAuthorization: Bearer " + token + "\r\n";
            String deep = String.join("", Collections.nCopies(200_000, "["));
            String[][] cases = {
                {"GET /v1/probe HTTP/1.1\r\n" + good + "\r\n", "200"},
                {"GET /v1/probe HTTP/1.1\r\nHost: localhost\r\nAuthorization: bearer " + token + "\r\n\r\n", "200"},
                {"GET /v1/probe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "401"},
                {"GET /v1/probe HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token.substring(1) + "\r\n\r\n", "401"},
                {"GET /v1/probe HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer " + token + "\r\n\r\n", "421"},
                {"GET /v1/probe HTTP/1.1\r\nAuthorization: Bearer " + token + "\r\n\r\n", "421"},
                {"GET /v1/nothing HTTP/1.1\r\n" + good + "\r\n", "404"},
                {"GET /v1/arm HTTP/1.1\r\n" + good + "\r\n", "405"},
                {"nonsense\r\n\r\n", "400"},
                {"POST /v1/silence HTTP/1.1\r\n" + good + "Content-Length: x\r\n\r\n", "400"},
                {"POST /v1/silence HTTP/1.1\r\n" + good + "Content-Length: 2\r\n\r\n{}", "415"},
                {"POST /v1/silence HTTP/1.1\r\n" + good + "Content-Length: 99999999\r\n\r\n", "413"},
                {"POST /v1/silence HTTP/1.1\r\n" + good + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411"},
                {"GET / HTTP/1.1\r\nX: " + new String(new char[9000]).replace('\0', 'x') + "\r\n\r\n", "431"},
                {post("/v1/silence", "{\"plugin\": 7}", good), "400"},
                {post("/v1/silence", "{\"plugin\": \"none\"}", good), "404"},
                {post("/v1/silence", "{\"plugin\": ", good), "400"},
                {post("/v1/silence", "{\"plugn\": \"logback\"}", good), "400"},
                {post("/v1/arm", "{\"plugin\": \"logback\"}", good), "400"},
                {post("/v1/silence", deep, good), "400"},
                {post("/v1/mask", "{\"off\": [\"logback\"]}", good), "400"},
                {post("/v1/mask", "{\"off\": [\"logback\"], \"for_ms\": 99999999}", good), "400"},
            };
            for (String[] one : cases) {
                String answer = raw(one[0]);
                assertTrue(answer.startsWith("HTTP/1.1 " + one[1] + ' '), one[0].substring(0, Math.min(80, one[0].length())) + "\n" + answer);
            }
            assertTrue(raw(cases[0][0]).contains("\"state\":\"disarmed\""), "a refused request has changed the state");
        }
        assertTrue(await(() -> registrations().count() == 0), "the registration stays when the JVM has ended");
    }

    @Test
    void states_change_masks_end_and_calls_are_counted() throws Exception {
        try (Jvm jvm = new Jvm("")) {
            has(call("POST", "/v1/arm", ""), "\"state\":\"armed\"", "\"found_version\":\"1.2.13\"", "\"ready\":true");
            waits("GET /v1/cost", answer -> number(answer, "\"logback\",\"join_point\":\"append\",\"traffic\":\"shadow\",\"calls\":([0-9]+)") > 20);
            has(call("GET", "/v1/cost", ""), "\"plugin\":\"logback\"", "\"traffic\":\"business\"", "\"ns_p99\":");
            has(call("POST", "/v1/mask", "{\"off\": [\"logback\"], \"for_ms\": 700}"), "\"masked\":[\"logback\"]");
            has(call("GET", "/v1/probe", ""), "\"state\":\"silent\",\"reason\":\"masked", "\"ready\":false", "\"state\":\"armed\"");
            waits("GET /v1/probe", answer -> answer.contains("\"ready\":true"));
            has(call("POST", "/v1/silence", "{\"plugin\": \"logback\", \"why\": \"because\"}"), "\"state\":\"silent\",\"reason\":\"because\"");
            has(call("POST", "/v1/mask", "{\"off\": []}"), "\"masked\":[]");
            String refused = call("POST", "/v1/arm", "");
            has(refused, "HTTP/1.1 409 ", "logback: it is silent: because", "\"check\":[");
            has(call("POST", "/v1/wake", "{\"plugin\": \"logback\"}"), "\"state\":\"disarmed\",\"reason\":\"the check has findings\"");
            has(call("POST", "/v1/arm", ""), "\"ready\":true");
            has(call("POST", "/v1/silence", ""), "\"state\":\"silent\",\"reason\":\"by request\"");
            // Join points refuse until the last mark has gone.
            waits("GET /v1/cost", answer -> answer.contains("\"traffic\":\"silent\""));
            has(call("POST", "/v1/wake", ""), "\"state\":\"disarmed\"");
        }
    }

    @Test
    void a_shadow_configuration_is_replaced_at_the_revision_that_was_read() throws Exception {
        try (Jvm jvm = new Jvm("")) {
            call("POST", "/v1/arm", "");
            String before = call("GET", "/v1/shadow", "");
            has(before, "ETag: \"1\"");
            String change = "{\"logback\": {\"suffix\": \".other\"}}";
            has(call("PUT", "/v1/shadow", change, "If-Match: \"7\"\r\n"), "HTTP/1.1 412 ");
            has(call("PUT", "/v1/shadow", "{\"logback\": {\"sufix\": \".x\"}}"), "HTTP/1.1 422 ", "shadow.logback.sufix: there is no such key");
            has(call("PUT", "/v1/shadow", "{\"mock\": [{\"class\": \"A\", \"method\": \"b\"}]}"), "HTTP/1.1 422 ", "A#b was not configured when");
            has(call("PUT", "/v1/shadow", "{\"mock\": [{\"method\": \"b\"}]}"), "HTTP/1.1 422 ", "shadow.mock[0]: expected `class` or `interface`");
            has(call("POST", "/v1/silence", "{\"plugin\": \"servlet\"}"), "HTTP/1.1 409 ", "servlet is an edge");
            for (String wrong : new String[] {"\"allow\": [\"http://a:1\"]", "\"allow\": [\"\"]", "\"sockets\": [\"a:70000\"]",
                "\"jdbc\": [{\"business\": \"*\", \"shadow\": {}}]"}) {
                has(call("PUT", "/v1/shadow", '{' + wrong + '}'), "HTTP/1.1 422 ", "[0]", ": expected ");
            }
            has(call("GET", "/v1/probe", ""), "\"state\":\"armed\"");
            has(call("PUT", "/v1/shadow", change, "If-Match: \"1\"\r\n"), "HTTP/1.1 200 ", "ETag: \"2\"", "\"state\":\"armed\"");
            assertTrue(await(() -> Files.exists(dir.resolve("app.log.other"))), "the new suffix is not used");
        }
    }

    @Test
    void a_service_whose_settings_are_wrong_keeps_the_probe_from_being_armed() throws Exception {
        try (Jvm jvm = new Jvm(",\"bounds\": {\"cpu_percent\": 90, \"then\": \"stop\"}")) {
            has(call("POST", "/v1/arm", ""), "HTTP/1.1 409 ", "bounds.then is `stop`: expected disarm or silence");
        }
    }

    @Test
    void a_passed_bound_of_latency_silences_where_that_is_asked_for() throws Exception {
        try (Jvm jvm = new Jvm(",\"bounds\": {\"latency_ms\": 0.0001, \"window_s\": 1, \"then\": \"silence\"}")) {
            call("POST", "/v1/arm", "");
            waits("GET /v1/probe", answer -> answer.contains("\"state\":\"silent\"") && answer.contains("takes more than 0.0001"));
        }
    }

    @Test
    void a_passed_bound_of_cpu_disarms_and_says_why() throws Exception {
        try (Jvm jvm = new Jvm(",\"bounds\": {\"cpu_percent\": 0.001, \"window_s\": 1}")) {
            call("POST", "/v1/arm", "");
            waits("GET /v1/probe", answer -> answer.contains("\"state\":\"disarmed\"") && answer.contains("\"reason\":\"CPU "));
        }
    }

    @Test
    void metrics_and_registrations_are_sent_and_control_gives_the_shadow_configuration() throws Exception {
        BlockingQueue<String> seen = new ArrayBlockingQueue<>(100);
        try (ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Thread thread = new Thread(() -> serve(server, seen));
            thread.setDaemon(true);
            thread.start();
            String url = "\"http://127.0.0.1:" + server.getLocalPort() + '"';
            try (Jvm jvm = new Jvm(",\"control\": " + url + ", \"control_token\": \"t\", \"otlp\": " + url + ", \"otlp_interval_s\": 1")) {
                call("POST", "/v1/arm", "");
                String first = seen.poll(10, TimeUnit.SECONDS);
                has(first, "POST /api/v1/probes ", "Bearer t", "\"app\":\"shop\"", "\"token\":\"" + token, "\"shadow_revision\":0");
                waits("GET /v1/shadow", answer -> answer.contains("\"control_revision\":12") && answer.contains(".given"));
                String metrics = "";
                for (int i = 0; i < 10 && !metrics.contains("weir.probe.calls"); i++) {
                    metrics = seen.poll(10, TimeUnit.SECONDS);
                }
                has(metrics, "POST /v1/metrics ", "\"resourceMetrics\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\"",
                        "\"name\":\"weir.probe.calls\"", "\"asInt\":\"", "\"aggregationTemporality\":2");
            }
        }
    }

    @Test
    @Tag("slow")
    void a_probe_whose_control_is_gone_disarms_once_and_stays_as_it_is_switched_after_that() throws Exception {
        BlockingQueue<String> seen = new ArrayBlockingQueue<>(100);
        ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        Thread thread = new Thread(() -> serve(server, seen));
        thread.setDaemon(true);
        thread.start();
        try (Jvm jvm = new Jvm(",\"control_lost_s\": 1, \"control\": \"http://127.0.0.1:" + server.getLocalPort() + '"')) {
            has(seen.poll(10, TimeUnit.SECONDS), "POST /api/v1/probes ");
            waits("GET /v1/shadow", answer -> answer.contains("\"control_revision\":12"));
            server.close();
            has(call("POST", "/v1/arm", ""), "\"state\":\"armed\"");
            waits("GET /v1/probe", answer -> answer.contains("\"state\":\"disarmed\",\"reason\":\"control has not taken this probe for 1 s"));
            has(call("POST", "/v1/arm", ""), "\"state\":\"armed\"");
            Thread.sleep(5_000); // two more attempts
            has(call("GET", "/v1/probe", ""), "\"state\":\"armed\"");
        } finally {
            server.close();
        }
    }

    @Test
    void a_jvm_that_takes_business_traffic_only_cannot_be_armed() throws Exception {
        try (Jvm jvm = new Jvm(",\"shadow_traffic\": \"never\"")) {
            has(call("POST", "/v1/arm", ""), "HTTP/1.1 409 ", "shadow_traffic is `never`");
            has(call("GET", "/v1/probe", ""), "\"state\":\"disarmed\"");
        }
    }

    private static void serve(ServerSocket server, BlockingQueue<String> seen) {
        while (!server.isClosed()) {
            try (Socket socket = server.accept()) {
                String request = "";
                byte[] bytes = new byte[65536];
                Matcher length;
                do {
                    int n = socket.getInputStream().read(bytes);
                    request += new String(bytes, 0, Math.max(0, n), StandardCharsets.UTF_8);
                    length = Pattern.compile("(?s)Content-Length: ([0-9]+).*?\r\n\r\n(.*)").matcher(request);
                } while (!length.find() || length.group(2).length() < Integer.parseInt(length.group(1)));
                seen.offer(request);
                String body = request.contains("/probes ") ? "{\"shadow_revision\": 12, \"shadow\": {\"logback\": {\"suffix\": \".given\"}}}" : "{}";
                socket.getOutputStream().write(("HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\nConnection: close\r\n\r\n" + body).getBytes());
            } catch (IOException e) {
                // closed
            }
        }
    }

    private static void has(String text, String... parts) {
        for (String part : parts) {
            assertTrue(text != null && text.contains(part), part + " is not in\n" + text);
        }
    }

    private static long number(String text, String pattern) {
        Matcher found = Pattern.compile(pattern).matcher(text);
        return found.find() ? Long.parseLong(found.group(1)) : -1;
    }

    private void waits(String request, Predicate<String> holds) throws Exception {
        String[] last = {""};
        assertTrue(await(() -> holds.test(last[0] = call(request.split(" ")[0], request.split(" ")[1], ""))), last[0]);
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    private static boolean await(Condition condition) throws Exception {
        for (long end = System.nanoTime() + 20_000_000_000L; System.nanoTime() < end; Thread.sleep(20)) {
            if (condition.holds()) {
                return true;
            }
        }
        return false;
    }

    private Stream<Path> registrations() throws IOException {
        return Files.list(dir.resolve("probes")).filter(file -> file.toString().endsWith(".json"));
    }

    private static String post(String path, String body, String headers) {
        return "POST " + path + " HTTP/1.1\r\n" + headers + "Content-Type: application/json\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
    }

    private String call(String method, String path, String body, String... headers) throws IOException {
        String head = "Host: localhost\r\nAuthorization: Bearer " + token + "\r\n" + String.join("", headers);
        return raw(post(path, body, head).replaceFirst("POST", method));
    }

    private String raw(String request) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(address))) {
            socket.setSoTimeout(10_000);
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            ByteArrayOutputStream answer = new ByteArrayOutputStream();
            InputStream in = socket.getInputStream();
            byte[] buffer = new byte[8192];
            for (int n; (n = in.read(buffer)) >= 0; ) {
                answer.write(buffer, 0, n);
            }
            return new String(answer.toByteArray(), StandardCharsets.UTF_8);
        }
    }

    /** A JVM that logs, marked and not, until it is closed. */
    private final class Jvm implements AutoCloseable {
        private final Process process;

        Jvm(String configuration) throws Exception {
            Path config = dir.resolve("probe.json");
            Files.write(config, ("{\"app\": \"shop\", \"dir\": \"" + dir.resolve("probes") + '"' + configuration + '}').getBytes());
            Path output = dir.resolve("out");
            process = Jvms.of(System.getProperty("java.home")).agent("config=" + config)
                    .start(Program.class, output, dir.resolve("app.log").toString());
            boolean ready = await(() -> Files.isDirectory(dir.resolve("probes")) && registrations().count() == 1);
            assertTrue(ready, () -> process.isAlive() + " " + dir.toFile().list().length);
            Path file = registrations().findFirst().get();
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
            String text = new String(Files.readAllBytes(file));
            address = Long.toString(number(text, "\"port\":([0-9]+)"));
            token = text.replaceFirst("(?s).*\"token\":\"([0-9a-f]{64})\".*", "$1");
            assertTrue(await(() -> Files.exists(dir.resolve("app.log"))), () -> "the program does not start: " + output);
        }

        @Override
        public void close() throws Exception {
            process.destroy(); // with its shutdown hooks
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            LoggerContext context = (LoggerContext) org.slf4j.LoggerFactory.getILoggerFactory();
            Logger logger = context.getLogger("app");
            logger.setAdditive(false);
            PatternLayoutEncoder encoder = new PatternLayoutEncoder();
            encoder.setContext(context);
            encoder.setPattern("%msg%n");
            encoder.start();
            FileAppender<ILoggingEvent> file = new FileAppender<>();
            file.setContext(context);
            file.setFile(arguments[0]);
            file.setEncoder(encoder);
            file.start();
            logger.addAppender(file);
            for (long end = System.nanoTime() + 60_000_000_000L; System.nanoTime() < end; Thread.sleep(1)) {
                logger.info("business");
                try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                    logger.info("shadow");
                } catch (ShadowRefused expected) {
                    // not armed
                }
            }
        }
    }
}
