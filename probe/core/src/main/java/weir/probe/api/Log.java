package weir.probe.api;

import java.io.PrintStream;

/** Lines of the probe on standard error: one for each event, never one for each request. */
public final class Log {
    private static volatile PrintStream out = System.err;

    private Log() {}

    public static void line(String text) {
        out.println("weir-probe: " + text.replace('\n', ' ').replace('\r', ' '));
    }

    public static void to(PrintStream stream) {
        out = stream;
    }
}
