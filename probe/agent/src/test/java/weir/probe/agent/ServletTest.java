package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static weir.probe.agent.Jvms.check;

import java.io.InputStream;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;

/** Tomcat 9 with {@code javax.servlet} and Tomcat 10 with {@code jakarta.servlet}, requests over loopback. */
class ServletTest {
    static Stream<Arguments> tomcats() {
        return Jvms.homes().flatMap(home -> (Jvms.hasModules(home) ? Stream.of("9", "10") : Stream.of("9")).map(version -> Arguments.of(home, version)));
    }

    @ParameterizedTest
    @MethodSource("tomcats")
    void requests_are_marked_refused_or_left_alone(String home, String version) throws Exception {
        Jvms jvm = Jvms.of(home).agent("state=disarmed");
        if (version.equals("10")) {
            jvm.replacing("tomcat-10", "tomcat-");
        }
        String out = jvm.run(Program.class, version);
        assertEquals(1, out.split("weir-probe: the request is refused: the mark", -1).length - 1, out);
        assertEquals(1, out.split("weir-probe: shadow traffic is refused: the probe is not armed", -1).length - 1, out);
    }

    static final class Program {
        private static String prefix;
        private static int port;
        /** What asynchronous continuations saw. */
        private static volatile String continued;
        private static volatile CountDownLatch go;

        public static void main(String[] arguments) throws Exception {
            prefix = arguments[0].equals("9") ? "javax.servlet." : "jakarta.servlet.";
            Tomcat tomcat = new Tomcat();
            tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));
            tomcat.setPort(0);
            tomcat.getConnector().setProperty("maxHttpHeaderSize", "200000");
            Context context = tomcat.addContext("", null);
            Class<?> type = Class.forName(prefix + "Servlet");
            Object servlet = proxy(type, (method, a) -> method.equals("service") ? serve(a[0], a[1]) : null);
            Wrapper wrapper = (Wrapper) Tomcat.class.getMethod("addServlet", Context.class, String.class, type)
                    .invoke(null, context, "app", servlet);
            wrapper.setAsyncSupported(true);
            context.addServletMappingDecoded("/", "app");
            tomcat.start();
            port = tomcat.getConnector().getLocalPort();

            String mark = "weir.shadow=1";
            String longer = new String(new char[1 << 16]).replace('\0', 'x');
            expect("200 business", "/");
            expect("503 shadow traffic is refused: the probe is not armed", "/", mark);
            expect("503 shadow traffic is refused: the probe is not armed", "/", mark);
            expect("503 shadow traffic is refused: the probe is not armed", "/async", mark);
            expect("400 the request is refused: the mark `weir.shadow` is without a value", "/", "weir.shadow");
            expect("200 business", "/", "a=;;broken,\\");
            check(Probes.command("arm").contains("servlet: ready"), Probes.command("arm"));
            expect("200 business", "/");
            expect("200 1", "/", mark);
            expect("200 business", "/", "a=" + longer);
            expect("400 the request is refused: the mark `weir.shadow` is in baggage of more than 8192 bytes", "/", "a=" + longer, mark);
            expect("400 the request is refused: the mark `weir.shadow` is empty or longer than 256 bytes", "/", "weir.shadow=");
            expect("400 the request is refused: the mark `weir.shadow` is there twice with different values", "/", mark, "a=1,weir.shadow=2");
            expect("200 1", "/", "a=1", mark, mark + ";p");
            expect("500", "/throw", mark);
            for (String path : new String[] {"/async", "/timeout", "/start"}) {
                go = new CountDownLatch(0);
                expect("200 began business", path);
                check("business".equals(continued), path + " continued " + continued);
                expect("200 began 1", path, mark);
                check("1".equals(continued), path + " continued " + continued);
            }
            for (int i = 0; i < 300; i++) { // more than there are threads
                expect("200 business", "/");
            }
            check(Mark.live() == 0, "marks are left");
            try {
                throw new AssertionError("an edge is silenced: " + Probes.command("silence servlet"));
            } catch (IllegalArgumentException expected) {
                check(expected.getMessage().contains("servlet is an edge"), expected.getMessage());
            }
            expect("200 1", "/", mark);

            continued = null;
            go = new CountDownLatch(1);
            Thread late = new Thread(() -> {
                try {
                    String answer = request("/async", mark);
                    check(!answer.contains("began"), answer);
                } catch (Exception closed) {
                    // the connection's end: as it should be
                }
            });
            late.start();
            while (!"waiting".equals(continued)) {
                Thread.sleep(5);
            }
            Probes.command("disarm");
            go.countDown();
            late.join(10_000);
            check(!late.isAlive() && "waiting".equals(continued), "a request that was disarmed meanwhile goes on: " + continued);
            expect("200 business", "/");

            forgotten();
            Probes.command("arm");
            continued = null;
            java.net.Socket pending = new java.net.Socket("127.0.0.1", port); // HttpURLConnection would ask once more
            pending.setSoTimeout(10_000);
            pending.getOutputStream().write(("GET /pending HTTP/1.1\r\nHost: localhost\r\nbaggage: " + mark + "\r\n\r\n").getBytes());
            while (!"waiting".equals(continued)) {
                Thread.sleep(5);
            }
            Thread.sleep(200); // until no thread has the request
            check(Mark.live() == 1, "a request that waits for its timeout holds " + Mark.live() + " marks");
            Probes.command("silence");
            check(pending.getInputStream().read() < 0, "a request that was silenced meanwhile is answered");
            check("waiting".equals(continued), "a request that was silenced meanwhile goes on: " + continued);
            forgotten();

            expect("200 business", "/", mark); // a silent probe sees nothing
            Point point = Probes.points().stream().filter(p -> p.name().equals("servlet/request")).findAny().get();
            check(point.shadow.calls() > 3 && point.business.calls() > 300, point.shadow.calls() + " " + point.business.calls());
            System.exit(0);
        }

        /** Waits until the refused request has gone, and its mark with it. */
        private static void forgotten() throws Exception {
            for (int i = 0; i < 100 && Mark.live() > 0; i++) {
                System.gc();
                Thread.sleep(50);
            }
            check(Mark.live() == 0, "marks are left of a refused request");
        }

        private static void expect(String answer, String path, String... baggage) throws Exception {
            String got = request(path, baggage);
            check(got.equals(answer) || answer.equals("500") && got.startsWith("500 "), path + " " + String.join(",", baggage).length()
                    + ": expected " + answer + ", got " + got);
        }

        private static String request(String path, String... baggage) throws Exception {
            HttpURLConnection connection = (HttpURLConnection) new URL("http://127.0.0.1:" + port + path).openConnection();
            connection.setReadTimeout(10_000);
            for (String line : baggage) {
                connection.addRequestProperty("baggage", line);
            }
            int status = connection.getResponseCode();
            try (InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                return status + " " + new Scanner(in, "UTF-8").useDelimiter("\\A").next().trim();
            }
        }

        private static Object serve(Object request, Object response) throws Exception {
            String path = (String) call(request, "getRequestURI");
            if (path.equals("/throw")) {
                throw new IllegalStateException("by the application");
            }
            PrintWriter out = (PrintWriter) call(response, "getWriter");
            if (path.equals("/")) {
                out.write(mark());
            } else if (call(request, "getDispatcherType").toString().equals("ASYNC")) {
                continued = mark();
                out.write("began " + call(request, "getAttribute", "mark"));
            } else {
                begin(request, path, out);
            }
            return null;
        }

        private static void begin(Object request, String path, PrintWriter out) throws Exception {
            call(request, "setAttribute", "mark", mark());
            Object async = call(request, "startAsync");
            if (path.equals("/timeout") || path.equals("/pending")) {
                out.write("began " + mark());
                call(async, "setTimeout", path.equals("/timeout") ? 20L : 1000L);
                call(async, "addListener", proxy(Class.forName(prefix + "AsyncListener"), (method, a) -> {
                    if (method.equals("onTimeout")) {
                        continued = mark();
                        call(async, "complete");
                    }
                    return null;
                }));
                continued = path.equals("/pending") ? "waiting" : continued;
                return;
            }
            if (path.equals("/start")) { // a task for Tomcat's pool
                call(async, "start", (Runnable) () -> {
                    try {
                        continued = mark();
                        out.write("began " + call(request, "getAttribute", "mark"));
                        call(async, "complete");
                    } catch (Exception e) {
                        e.printStackTrace();
                    }
                });
                return;
            }
            CountDownLatch latch = go;
            new Thread(() -> {
                try {
                    if (latch.getCount() > 0) {
                        continued = "waiting";
                    }
                    check(latch.await(10, TimeUnit.SECONDS), "no permission to go on");
                    call(async, "dispatch");
                } catch (Exception e) {
                    e.printStackTrace();
                }
            }).start();
        }

        private static String mark() {
            return Mark.marked() ? Mark.current().value() : "business";
        }

        private interface Body {
            Object run(String method, Object[] arguments) throws Exception;
        }

        private static Object proxy(Class<?> type, Body body) {
            return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, a) -> body.run(method.getName(), a));
        }

        /** Calls a method by name and number of arguments, {@code javax} or {@code jakarta}. */
        private static Object call(Object target, String name, Object... arguments) throws Exception {
            for (Method method : target.getClass().getMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments.length && !method.isBridge()) {
                    method.setAccessible(true);
                    return method.invoke(target, arguments);
                }
            }
            throw new NoSuchMethodException(name);
        }
    }
}
