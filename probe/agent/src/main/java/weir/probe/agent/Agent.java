package weir.probe.agent;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;

/**
 * Entry of {@code weir-probe.jar}: as {@code -javaagent}, attached at run time, and as the command
 * {@code java -jar weir-probe.jar attach|leave PID [arguments]}. Nothing that it throws reaches the application.
 */
public final class Agent {
    private static final List<String> COMMANDS = Arrays.asList("attach", "arm", "disarm", "leave", "run", "silence", "wake");

    private Agent() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        run(arguments, instrumentation);
    }

    public static void agentmain(String arguments, Instrumentation instrumentation) {
        run(arguments, instrumentation);
    }

    private static void run(String arguments, Instrumentation instrumentation) {
        try {
            if (!onBootPath()) {
                instrumentation.appendToBootstrapClassLoaderSearch(new JarFile(jar()));
            }
            Inside.run(jar(), arguments, instrumentation);
        } catch (Throwable e) {
            Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
            String text = cause instanceof IllegalArgumentException ? cause.getMessage() : cause.toString();
            System.err.println("weir-probe: not started, the application runs without it: " + text);
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
        Class<?> type = virtualMachine();
        try {
            Object vm = type.getMethod("attach", String.class).invoke(null, arguments[1]);
            try {
                type.getMethod("loadAgent", String.class, String.class).invoke(vm, jar().getPath(), options);
            } finally {
                type.getMethod("detach").invoke(vm);
            }
        } catch (InvocationTargetException e) {
            System.err.println("weir-probe: cannot attach to " + arguments[1] + ": " + e.getCause());
            System.exit(1);
        }
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
