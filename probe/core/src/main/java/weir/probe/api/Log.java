package weir.probe.api;

import java.io.PrintStream;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Lines of the probe on standard error: one for each event, never one for each request. */
public final class Log {
    private static final long MINUTE_NS = 60_000_000_000L;
    /** By kind: when it was last written, and how often not since. */
    private static final Map<String, long[]> SOMETIMES = new ConcurrentHashMap<>();
    private static volatile PrintStream out = System.err;

    private Log() {}

    public static void line(String text) {
        out.println("weir-probe: " + text.replace('\n', ' ').replace('\r', ' '));
    }

    /** At most one line a minute for each kind, of which there is a fixed few: for what a sender can cause at will. */
    public static void sometimes(String kind, String text) {
        long now = System.nanoTime();
        long[] last = SOMETIMES.computeIfAbsent(kind, k -> new long[] {now - MINUTE_NS, 0});
        long withheld;
        synchronized (last) {
            if (now - last[0] < MINUTE_NS) {
                last[1]++;
                return;
            }
            withheld = last[1];
            last[0] = now;
            last[1] = 0;
        }
        line(withheld == 0 ? text : text + " (and " + withheld + " times more since the last such line)");
    }

    public static void to(PrintStream stream) {
        out = stream;
    }
}
