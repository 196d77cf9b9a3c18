package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static weir.probe.agent.Jvms.check;

import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.rpc.RpcContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

/** Providers and consumers of Dubbo 2.7 and 3 over loopback. */
@Tag("slow")
class DubboTest {
    static Stream<Arguments> versions() {
        return Jvms.homes().flatMap(home -> Stream.of(
                Arguments.of(home, "2.7", "dubbo"), Arguments.of(home, "3", "dubbo"), Arguments.of(home, "3", "tri")));
    }

    @ParameterizedTest
    @MethodSource("versions")
    void calls_carry_the_mark_to_allowed_services_only(String home, String version, String protocol, @TempDir Path dir) throws Exception {
        Path config = dir.resolve("probe.json");
        Files.write(config, ("{\"shadow\": {\"allow\": [\"" + Stock.class.getName() + "\"], \"mock\": [{\"interface\": \""
                + Billing.class.getName() + "\", \"method\": \"tax\", \"return\": 7}]}}").getBytes(StandardCharsets.UTF_8));
        Jvms jvm = Jvms.of(home).agent("state=disarmed,config=" + config).option("-Duser.home=" + dir, "-Ddubbo.application.logger=jdk");
        if (Jvms.hasModules(home)) { // for the proxies of Dubbo 2.7
            jvm.option("--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.math=ALL-UNNAMED");
        }
        if (version.equals("3")) {
            jvm.replacing("dubbo-3", "dubbo-2", "hessian-lite-");
        }
        String out = jvm.run(Program.class, protocol);
        assertEquals(1, out.split("weir-probe: shadow traffic is refused: the probe is not armed", -1).length - 1, out);
    }

    public interface Stock {
        String take(String item);
    }

    public interface Taxed {
        int tax(String item);
    }

    public interface Billing extends Taxed {
        String bill(String item);
    }

    static final class Program {
        private static volatile int served;
        private static ApplicationConfig application;
        private static ProtocolConfig protocol;

        public static void main(String[] arguments) throws Exception {
            int port;
            try (ServerSocket free = new ServerSocket(0)) {
                port = free.getLocalPort();
            }
            application = new ApplicationConfig("shop");
            application.setQosEnable(false);
            protocol = new ProtocolConfig(arguments[0], port);
            protocol.setHost("127.0.0.1");
            provide(Stock.class, Program::serve);
            provide(Billing.class, Program::serve);
            Stock stock = consume(Stock.class);
            Billing billing = consume(Billing.class);
            Billing again = consume(Billing.class, "failback");

            check(stock.take("x").equals("business, a=null"), "disarmed, business: " + stock.take("x"));
            refused(() -> given("weir.shadow=1", stock), "the probe is not armed");
            refused(() -> given("weir.shadow", stock), "the mark `weir.shadow` is without a value");
            check(given("a=1", stock).equals("business, a=a=1"), "foreign baggage");

            String report = Probes.command("arm");
            check(report.contains("dubbo: ready") && report.contains("dubboserver: ready"), report);
            check(stock.take("x").equals("business, a=null"), "armed, business: " + stock.take("x"));
            check(billing.bill("x").equals("business, a=null"), "armed, business to a service that is not allowed");
            check(given("weir.shadow=1", stock).equals("1, a=weir.shadow=1"), "the provider's edge");
            try (Mark.Scope shadow = Mark.open(new Mark("run-7"))) {
                check(stock.take("x").equals("run-7, a=weir.shadow=run-7"), "shadow: " + stock.take("x"));
                check(given("a=1", stock).equals("run-7, a=weir.shadow=run-7,a=1"), "baggage of the context is kept: " + given("a=1", stock));
                refused(() -> billing.bill("x"), "not among the allowed services");
                check(billing.tax("x") == 7, "the mock of a service");
                again.bill("x"); // fails, and would be tried again after 5 s
                Probes.command("silence dubbo");
                refused(() -> stock.take("x"), "no isolation");
                Probes.command("wake dubbo");
                Probes.command("disarm");
                refused(() -> stock.take("x"), "no isolation");
                Probes.command("silence");
                refused(() -> stock.take("x"), "no isolation");
            }
            check(stock.take("x").equals("business, a=null"), "silent, business");
            int before = served;
            Thread.sleep(7000);
            check(served == before, "a refused call is tried again, without its mark");
            check(given("weir.shadow=1", stock).startsWith("business"), "a silent probe sees nothing");
            check(Mark.live() == 0, "marks are left");
            System.exit(0);
        }

        private static String serve(String item) {
            served++;
            return (Mark.marked() ? Mark.current().value() : "business") + ", a=" + RpcContext.getContext().getAttachment("baggage");
        }

        private static String given(String baggage, Stock stock) {
            RpcContext.getContext().setAttachment("baggage", baggage);
            try {
                String answer = stock.take("x");
                String left = RpcContext.getContext().getAttachment("baggage");
                check(left == null || left.equals(baggage), "the caller's context is left with " + left);
                return answer;
            } finally {
                RpcContext.getContext().clearAttachments(); // 2.7 keeps them
            }
        }

        private static void refused(Runnable call, String reason) {
            int before = served;
            try {
                call.run();
            } catch (RuntimeException e) {
                boolean told = false;
                for (Throwable at = e; at != null; at = at.getCause()) {
                    told |= String.valueOf(at.getMessage()).contains(reason);
                }
                check(told, e + " does not say: " + reason);
                check(served == before, "it was served all the same: " + reason);
                return;
            }
            throw new AssertionError("not refused: " + reason);
        }

        private static <T> void provide(Class<T> type, java.util.function.UnaryOperator<String> body) {
            ServiceConfig<T> service = new ServiceConfig<>();
            service.setApplication(application);
            service.setRegistry(new RegistryConfig("N/A"));
            service.setProtocol(protocol);
            service.setScope("remote");
            service.setInterface(type);
            service.setRef(type.cast(java.lang.reflect.Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                    (self, method, a) -> method.getDeclaringClass() == Object.class ? method.getName().length() : body.apply((String) a[0]))));
            service.export();
        }

        private static <T> T consume(Class<T> type) {
            return consume(type, "failover");
        }

        private static <T> T consume(Class<T> type, String cluster) {
            ReferenceConfig<T> reference = new ReferenceConfig<>();
            reference.setApplication(application);
            reference.setInterface(type);
            String url = protocol.getName() + "://127.0.0.1:" + protocol.getPort() + '/' + type.getName();
            reference.setUrl(cluster.equals("failback") ? url + ';' + url : url); // of one address 2.7 makes no cluster
            reference.setCluster(cluster);
            reference.setScope("remote");
            reference.setRetries(cluster.equals("failback") ? 3 : 0);
            reference.setTimeout(10_000);
            return reference.get();
        }
    }
}
