package weir.probe.agent;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** JVMs for tests: those that {@code WEIR_JDKS} lists (homes, separated by colons), or the one that runs the tests. */
final class Jvms {
    static final String JAR = System.getProperty("weir.probe.jar");
    private final String home;
    private String[] replaced = {};
    private String library;
    private final List<String> options = new ArrayList<>();
    private long limit = 60;

    private Jvms(String home) {
        this.home = home;
    }

    static Stream<String> homes() {
        String listed = System.getenv("WEIR_JDKS");
        return listed == null || listed.isEmpty() ? Stream.of(System.getProperty("java.home")) : Stream.of(listed.split(":"));
    }

    static Jvms of(String home) {
        return new Jvms(home);
    }

    /** Whether a JVM is of Java 9 or later. */
    static boolean hasModules(String home) {
        return new File(home, "lib/modules").exists();
    }

    /** Whether a JDK has a module: runtimes that somebody has put together may lack some. */
    static boolean has(String home, String module) throws java.io.IOException {
        java.nio.file.Path release = new File(home, "release").toPath();
        String text = Files.exists(release) ? new String(Files.readAllBytes(release), StandardCharsets.UTF_8) : "";
        return !text.contains("MODULES=") || text.matches("(?s).*[\" ]" + module.replace(".", "\\.") + "[\" ].*");
    }

    Jvms agent(String arguments) {
        return option("-javaagent:" + JAR + (arguments.isEmpty() ? "" : '=' + arguments));
    }

    Jvms option(String... more) {
        Collections.addAll(options, more);
        return this;
    }

    Jvms limit(long seconds) {
        limit = seconds;
        return this;
    }

    /** Class path with another version of a library: {@code replaced} is what the jars begin with that it replaces. */
    Jvms replacing(String version, String... replaced) {
        this.replaced = replaced;
        library = new File(JAR).getParent() + "/libraries/" + version + "/*";
        return this;
    }

    /** Runs a program of the tests to its end and returns all that it wrote. Fails unless it ends with 0. */
    String run(Class<?> program, String... arguments) throws Exception {
        Path output = Files.createTempFile("weir-probe", ".out");
        Process process = start(program, output, arguments);
        try {
            boolean ended = process.waitFor(limit, TimeUnit.SECONDS);
            String text = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
            if (!ended || process.exitValue() != 0) {
                throw new AssertionError(home + ' ' + program.getSimpleName() + (ended ? " failed" : " did not end") + ", its last lines:\n"
                        + text.substring(Math.max(0, text.length() - 4000)));
            }
            return text;
        } finally {
            process.destroyForcibly();
            Files.delete(output);
        }
    }

    Process start(Class<?> program, Path output, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(home + "/bin/java", "-Xmx256m"));
        String beside = System.getenv("WEIR_BESIDE"); // another agent, before the probe
        if (beside != null && !beside.isEmpty()) {
            command.add("-javaagent:" + beside);
        }
        command.addAll(options);
        // Without the boot classes: a JVM of the tests has those that the agent brings.
        StringBuilder path = new StringBuilder(library == null ? "" : library);
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!entry.contains("probe-") && !entry.contains("/boot/") && !entry.endsWith("weir-probe.jar")
                    && Stream.of(replaced).noneMatch(jar -> entry.contains('/' + jar))) {
                path.append(path.length() == 0 ? "" : File.pathSeparator).append(entry);
            }
        }
        command.addAll(Arrays.asList("-cp", path.toString(), Main.class.getName(), program.getName()));
        command.addAll(Arrays.asList(arguments));
        return new ProcessBuilder(command).directory(new File(JAR).getParentFile())
                .redirectErrorStream(true).redirectOutput(output.toFile()).start();
    }

    /** Runs a program and ends the JVM with it, whatever threads it leaves. */
    static final class Main {
        public static void main(String[] arguments) {
            int status = 0;
            try {
                java.lang.reflect.Method main = Class.forName(arguments[0]).getDeclaredMethod("main", String[].class);
                main.setAccessible(true);
                main.invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
            } catch (Throwable e) {
                e.printStackTrace();
                status = 1;
            }
            System.exit(status);
        }
    }

    /** Fails a program of the tests unless a condition holds. */
    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
