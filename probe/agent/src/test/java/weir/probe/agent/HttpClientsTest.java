package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static weir.probe.agent.Jvms.check;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.lang.reflect.InvocationTargetException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

/** Apache HttpClient 4 and the JDK's, against the JDK's server. 127.0.0.1 is an allowed service, localhost is not. */
class HttpClientsTest {
    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void shadow_calls_carry_the_mark_and_reach_allowed_services_only(String home, @TempDir Path dir) throws Exception {
        Assumptions.assumeTrue(Jvms.has(home, "jdk.httpserver"), home + " has no server for HTTP");
        Path config = dir.resolve("probe.json");
        Files.write(config, "{\"shadow\": {\"allow\": [\"127.0.0.1\"]}}".getBytes(StandardCharsets.UTF_8));
        String out = Jvms.of(home).agent("state=armed,config=" + config).run(Program.class);
        assertTrue(out.contains("tried apache, apache minimal, apache redirected"), out);
        assertTrue(!Jvms.hasModules(home) || out.contains("jdk send, jdk sendAsync"), out);
    }

    private interface Get {
        void get(String url, String... headers) throws Exception;
    }

    static final class Program {
        private static volatile List<String> baggage;
        private static volatile List<String> trace;
        private static String allowed;
        private static String refused;
        private static ServerSocket elsewhere;

        public static void main(String[] arguments) throws Exception {
            HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
            elsewhere = new ServerSocket(0, 5, InetAddress.getByName("127.0.0.1"));
            elsewhere.setSoTimeout(50);
            allowed = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
            refused = "http://localhost:" + elsewhere.getLocalPort() + "/";
            server.createContext("/", Program::answer);
            server.start();
            StringBuilder tried = new StringBuilder("tried ");
            try (CloseableHttpClient client = HttpClients.createDefault(); CloseableHttpClient minimal = HttpClients.createMinimal()) {
                exercise(tried.append("apache"), apache(client));
                exercise(tried.append(", apache minimal"), apache(minimal));
                marked(() -> refused(apache(client), allowed + "away"));
                tried.append(", apache redirected");
            }
            if (Jdk.exists()) {
                exercise(tried.append(", jdk send"), Jdk.get(false, "NEVER"));
                exercise(tried.append(", jdk sendAsync"), Jdk.get(true, "NEVER"));
                Jdk.get(false, "NORMAL").get(allowed);
                marked(() -> refused(Jdk.get(false, "NORMAL"), allowed));
            }
            System.out.println(tried);
            System.exit(0);
        }

        private static void exercise(StringBuilder what, Get client) throws Exception {
            String traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            Probes.command("arm");
            client.get(allowed, "baggage", "a=1;p", "traceparent", traceparent);
            sent(what, traceparent, "a=1;p");
            client.get(allowed);
            sent(what, null);
            marked(() -> {
                client.get(allowed, "baggage", "a=1;p, b=2", "Baggage", "c=3", "traceparent", traceparent);
                sent(what, traceparent, "weir.shadow=run-7,a=1;p, b=2,c=3");
                client.get(allowed);
                sent(what, null, "weir.shadow=run-7");
                refused(client, refused);
                refused(client, allowed, "baggage", "a=" + new String(new char[9000]).replace('\0', 'x'));
                Probes.command("silence httpclient");
                Probes.command("silence jdkhttp");
                refused(client, allowed);
                Probes.command("wake httpclient");
                Probes.command("wake jdkhttp");
                Probes.command("disarm");
                refused(client, allowed);
                Probes.command("silence");
                refused(client, allowed);
            });
            client.get(allowed, "baggage", "a=1");
            sent(what, null, "a=1");
            Probes.command("wake");
            client.get(allowed);
            sent(what, null);
            Probes.command("arm");
        }

        private static void sent(StringBuilder what, String traceparent, String... expected) {
            String seen = baggage == null ? "" : String.join("|", baggage);
            check(seen.equals(String.join("|", expected)), what + ": sent " + seen);
            boolean isTraced = System.getenv("WEIR_BESIDE") != null; // by an agent that sends a traceparent of its own
            check(isTraced || (trace == null ? traceparent == null : trace.equals(Collections.singletonList(traceparent))), what + ": sent " + trace);
        }

        private static void refused(Get client, String url, String... headers) throws Exception {
            baggage = Collections.singletonList("nothing");
            try {
                client.get(url, headers);
                throw new AssertionError("a shadow call reaches " + url);
            } catch (ShadowRefused expected) {
                check(expected.getMessage().contains("refused") || expected.getMessage().contains("no isolation"), expected.getMessage());
            }
            if (!url.endsWith("away")) {
                check(baggage.get(0).equals("nothing"), "it was sent all the same: " + url);
            }
            try {
                elsewhere.accept();
                throw new AssertionError("a connection was made before the refusal: " + url);
            } catch (SocketTimeoutException none) {
                // as it should be
            }
        }

        private interface Work {
            void run() throws Exception;
        }

        private static void marked(Work work) throws Exception {
            try (Mark.Scope shadow = Mark.open(new Mark("run-7"))) {
                work.run();
            }
        }

        private static void answer(HttpExchange exchange) throws java.io.IOException {
            baggage = exchange.getRequestHeaders().get("baggage");
            trace = exchange.getRequestHeaders().get("traceparent");
            boolean away = exchange.getRequestURI().getPath().equals("/away");
            if (away) {
                exchange.getResponseHeaders().set("Location", refused);
            }
            exchange.sendResponseHeaders(away ? 302 : 200, 0);
            exchange.getResponseBody().close(); // not exchange.close(), which may end the connection that the client keeps
        }

        private static Get apache(CloseableHttpClient client) {
            return (url, headers) -> {
                HttpGet get = new HttpGet(url);
                for (int i = 0; i < headers.length; i += 2) {
                    get.addHeader(headers[i], headers[i + 1]);
                }
                client.execute(get).close();
            };
        }
    }

    /** The JDK's client, by reflection: the tests are compiled for Java 8. */
    private static final class Jdk {
        private static final String P = "java.net.http.Http";

        static boolean exists() {
            return !System.getProperty("java.version").startsWith("1.");
        }

        static Get get(boolean async, String redirects) {
            return (url, headers) -> {
                Class<?> clientType = Class.forName(P + "Client");
                Class<?> redirect = Class.forName(P + "Client$Redirect");
                Object builder = clientType.getMethod("newBuilder").invoke(null);
                Class<?> builderType = Class.forName(P + "Client$Builder");
                Object policy = redirect.getMethod("valueOf", String.class).invoke(null, redirects);
                builderType.getMethod("followRedirects", redirect).invoke(builder, policy);
                Object client = builderType.getMethod("build").invoke(builder);
                Class<?> requestType = Class.forName(P + "Request");
                Class<?> requestBuilderType = Class.forName(P + "Request$Builder");
                Object request = requestType.getMethod("newBuilder", URI.class).invoke(null, URI.create(url));
                for (int i = 0; i < headers.length; i += 2) {
                    requestBuilderType.getMethod("header", String.class, String.class).invoke(request, headers[i], headers[i + 1]);
                }
                Class<?> handlerType = Class.forName(P + "Response$BodyHandler");
                Object discarding = Class.forName(P + "Response$BodyHandlers").getMethod("discarding").invoke(null);
                try {
                    Object answer = clientType.getMethod(async ? "sendAsync" : "send", requestType, handlerType)
                            .invoke(client, requestBuilderType.getMethod("build").invoke(request), discarding);
                    if (async) {
                        ((CompletableFuture<?>) answer).join();
                    }
                } catch (InvocationTargetException | CompletionException e) {
                    throw e.getCause() instanceof ShadowRefused ? (ShadowRefused) e.getCause() : e;
                }
            };
        }
    }
}
