package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static weir.probe.agent.Jvms.check;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

/** Another agent changes the same class, as one that is started before the probe and as one started after it. */
class BesideTest {
    private static final String MOCK = "{\"shadow\": {\"mock\": [{\"class\": \"weir.probe.agent.BesideTest$Service\","
            + " \"method\": \"price\", \"return\": 7}]}}";

    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void both_agents_changes_hold_and_the_others_stay_when_the_probe_leaves(String home, @TempDir Path dir) throws Exception {
        Path config = dir.resolve("probe.json");
        Files.write(config, MOCK.getBytes(StandardCharsets.UTF_8));
        String other = "-javaagent:" + jar(dir);
        for (boolean first : new boolean[] {true, false}) {
            Jvms jvm = Jvms.of(home);
            jvm = first ? jvm.option(other).agent("config=" + config) : jvm.agent("config=" + config).option(other);
            String out = jvm.run(Program.class);
            assertTrue(out.contains("all held"), out);
        }
    }

    private static Path jar(Path dir) throws Exception {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().putValue("Manifest-Version", "1.0");
        manifest.getMainAttributes().putValue("Premain-Class", Other.class.getName());
        manifest.getMainAttributes().putValue("Can-Retransform-Classes", "true");
        Path jar = dir.resolve("other.jar");
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();
        return jar;
    }

    static class Service {
        String name() {
            return "plain";
        }

        int price() {
            return 3;
        }
    }

    /** Changes a constant of the class, of the same length, whatever else has been done to it. */
    static final class Other {
        public static void premain(String arguments, Instrumentation instrumentation) {
            instrumentation.addTransformer(new ClassFileTransformer() {
                @Override
                public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
                    if (!"weir/probe/agent/BesideTest$Service".equals(name)) {
                        return null;
                    }
                    String text = new String(bytes, StandardCharsets.ISO_8859_1);
                    return text.replace("plain", "other").getBytes(StandardCharsets.ISO_8859_1);
                }
            }, true);
        }
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            Service service = new Service();
            check(service.name().equals("other") && service.price() == 3, "before: " + service.name() + service.price());
            String armed = Probes.command("arm");
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                check(service.name().equals("other") && service.price() == 7, "armed: " + service.name() + service.price() + armed);
            }
            Probes.command("leave");
            check(service.name().equals("other") && service.price() == 3, "after: " + service.name() + service.price());
            System.out.println("all held");
        }
    }
}
