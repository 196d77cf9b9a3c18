package weir.probe.agent;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.jar.JarFile;

/**
 * Entry of {@code weir-probe.jar}: as {@code -javaagent}, attached at run time, and as the command
 * {@code java -jar weir-probe.jar attach|leave PID [arguments]}. Nothing that it throws reaches the application.
 */
public final class Agent {
    private static final List<String> COMMANDS = Arrays.asList("attach", "arm", "disarm", "leave", "run", "silence", "wake");

    /** With what the command begins its options: the file for the answer, up to a semicolon. */
    private static final String REPLY = "reply=";
    private static final String FAILED = "failed: ";

    private Agent() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        run(arguments, instrumentation);
    }

    public static void agentmain(String arguments, Instrumentation instrumentation) {
        run(arguments, instrumentation);
    }

    private static void run(String given, Instrumentation instrumentation) {
        int end = given != null && given.startsWith(REPLY) ? given.indexOf(';') : -1;
        String arguments = end < 0 ? given : given.substring(end + 1);
        String answer;
        try {
            if (!onBootPath()) {
                instrumentation.appendToBootstrapClassLoaderSearch(new JarFile(jar()));
            }
            answer = Inside.run(jar(), arguments, instrumentation);
        } catch (Throwable e) {
            Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
            String text = cause instanceof IllegalArgumentException || cause instanceof IllegalStateException
                    ? cause.getMessage() : cause.toString();
            boolean starting = !(cause instanceof IllegalStateException) && (arguments == null || !arguments.startsWith("!"));
            answer = FAILED + (starting ? "not started, the application runs without it: " : "") + text;
            System.err.println("weir-probe: " + answer.substring(FAILED.length()));
        }
        if (end > 0) {
            try {
                Files.write(Paths.get(given.substring(REPLY.length(), end)), answer.getBytes(StandardCharsets.UTF_8),
                        StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            } catch (IOException | RuntimeException e) {
                System.err.println("weir-probe: " + e + " at the answer: " + answer);
            }
        }
    }

    private static boolean onBootPath() {
        try {
            Class.forName("weir.probe.boot.Probes", false, null);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static File jar() throws Exception {
        return new File(Agent.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    /** The command. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 2 || !COMMANDS.contains(arguments[0])) {
            System.err.println("usage: java -jar weir-probe.jar attach PID [key=value,...]\n"
                    + "       java -jar weir-probe.jar arm|disarm|leave PID\n"
                    + "       java -jar weir-probe.jar silence|wake PID [plugin]\n"
                    + "       java -jar weir-probe.jar run PID 'scheduled JOB'");
            System.exit(2);
        }
        String more = arguments.length > 2 ? arguments[2] : "";
        String options = arguments[0].equals("attach") ? more : ('!' + arguments[0] + ' ' + more).trim();
        Path reply = Paths.get("/tmp", "weir-probe-" + UUID.randomUUID()); // nobody can make it first
        Class<?> type = virtualMachine();
        try {
            Object vm = type.getMethod("attach", String.class).invoke(null, arguments[1]);
            try {
                type.getMethod("loadAgent", String.class, String.class).invoke(vm, jar().getPath(), REPLY + reply + ';' + options);
            } finally {
                type.getMethod("detach").invoke(vm);
            }
        } catch (InvocationTargetException e) {
            System.err.println("weir-probe: cannot attach to " + arguments[1] + ": " + e.getCause());
            System.exit(1);
        }
        System.exit(report(arguments, reply));
    }

    /** Says what the JVM has answered; the exit code. */
    private static int report(String[] arguments, Path reply) throws IOException {
        Path there = Paths.get("/proc", arguments[1], "root", reply.toString()); // it may have a /tmp of its own
        Path file = Files.exists(there) ? there : reply;
        if (!Files.exists(file)) {
            System.err.println("weir-probe: no answer can be read; what came of it is on the standard error of " + arguments[1]);
            return 1;
        }
        String answer = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        Files.delete(file);
        boolean failed = answer.startsWith(FAILED);
        (failed ? System.err : System.out).println("weir-probe: " + (failed ? answer.substring(FAILED.length()) : answer));
        return failed || arguments[0].equals("arm") && !answer.startsWith("armed") ? 1 : 0;
    }

    /** The attach API: a module since JDK 9, {@code lib/tools.jar} of the JDK before. */
    private static Class<?> virtualMachine() throws Exception {
        String name = "com.sun.tools.attach.VirtualMachine";
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            File tools = new File(System.getProperty("java.home"), "../lib/tools.jar");
            if (!tools.exists()) {
                System.err.println("weir-probe: this Java has no attach API; run the command with a JDK");
                System.exit(1);
            }
            return Class.forName(name, true, new URLClassLoader(new URL[] {tools.toURI().toURL()}));
        }
    }
}
