package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static weir.probe.agent.Jvms.check;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

/** Plugins that the configuration names. */
class OwnPluginTest {
    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void a_plugin_in_a_jar_of_its_own_is_woven(String home, @TempDir Path dir) throws Exception {
        Path jar = dir.resolve("extra.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            for (String name : new String[] {"ExtraPlugin", "ExtraPlugin$Handler", "ExtraPlugin$Discount"}) {
                String path = "weir/probe/plugin/extra/" + name + ".class";
                out.putNextEntry(new JarEntry(path));
                out.write(Files.readAllBytes(java.nio.file.Paths.get(
                        getClass().getProtectionDomain().getCodeSource().getLocation().toURI()).resolve(path)));
            }
        }
        String said = run(home, dir, "{\"extra\": \"" + jar + "\"}");
        assertTrue(said.contains("shadow 7"), said);
    }

    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void what_is_no_plugin_is_said_and_shadow_traffic_refused(String home, @TempDir Path dir) throws Exception {
        Path jar = dir.resolve("empty.jar");
        refused(home, dir, "{\"extra\": \"" + jar + "\"}", "plugins.extra cannot be loaded: .*" + jar);
        Files.write(jar, "no jar".getBytes(StandardCharsets.UTF_8));
        refused(home, dir, "{\"extra\": \"" + jar + "\"}", "plugins.extra cannot be loaded: .*[zZ][iI][pP]");
        refused(home, dir, "{\"extra\": 5}", "plugins.extra is `5`: expected true, false or the path of a jar");
        refused(home, dir, "[\"logback\"]", "plugins: expected an object");
        refused(home, dir, "{\"logbak\": false}", "plugins.logbak: there is no such plugin, only executors, ");
        refused(home, dir, "{", "probe.json:1:14: ");
    }

    private static void refused(String home, Path dir, String plugins, String why) throws Exception {
        String said = run(home, dir, plugins);
        assertTrue(said.matches("(?s).*" + why + ".*configuration: .*" + why + ".*the probe is not armed.*"), said);
    }

    private static String run(String home, Path dir, String plugins) throws Exception {
        Path config = dir.resolve("probe.json");
        Files.write(config, ("{\"plugins\": " + plugins + "}").getBytes(StandardCharsets.UTF_8));
        return Jvms.of(home).agent("config=" + config).run(Program.class);
    }

    static class Service {
        int price() {
            return 3;
        }
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            check(new Service().price() == 3, "business is changed");
            System.out.println(Probes.command("arm"));
            try (Mark.Scope scope = Mark.open(new Mark("1"))) {
                System.out.println("shadow " + new Service().price());
            } catch (ShadowRefused refused) {
                System.out.println(refused.getMessage());
            }
        }
    }
}
