package weir.probe.control;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import weir.probe.boot.Cells;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;
import weir.probe.core.Config;
import weir.probe.core.Probe;
import weir.probe.core.Service;

/**
 * Takes the probe out of business's way when a bound is passed: the CPU time of the process, as a share of the
 * processors it has, or the 99th percentile of the time in a handler. By default it disarms: edges stay on and refuse
 * shadow traffic, all else is folded away. Silence would let marked requests in as business traffic; {@code "then":
 * "silence"} asks for it. Nothing arms the probe again but a person.
 */
public final class AutoSilence implements Service {
    private static final long TICK_MS = 250;
    /** Most moments that a window holds. */
    private static final long MOMENTS = 40;
    /** Timed calls without which a percentile says nothing. */
    private static final long LEAST = 50;

    /** What has been counted at a moment. */
    private static final class Moment {
        final long ns = System.nanoTime();
        final long cpuNs = Host.cpuNs();
        final Map<Cells, long[]> slow = new HashMap<>();
    }

    private final Deque<Moment> window = new ArrayDeque<>();
    private Probe probe;
    private double cpuPercent;
    private double latencyMs;
    private long windowNs;
    private boolean silence;
    private Thread thread;

    @Override
    public void start(Probe watched) {
        Config config = watched.config();
        probe = watched;
        cpuPercent = config.number("bounds", "cpu_percent", 0.0);
        latencyMs = config.number("bounds", "latency_ms", 0.0);
        windowNs = (long) (config.number("bounds", "window_s", 10.0) * 1e9);
        silence = config.word("bounds", "then", "disarm", "silence").equals("silence");
        if (cpuPercent > 0 || latencyMs > 0) {
            thread = Server.start("weir-probe-bounds", this::watch);
        }
    }

    private void watch() {
        try {
            while (true) {
                Thread.sleep(Math.max(TICK_MS, windowNs / MOMENTS / 1_000_000));
                if (probe.state() == Probe.State.ARMED) {
                    tick();
                } else {
                    window.clear(); // and begin anew when it is armed again
                }
            }
        } catch (InterruptedException e) {
            // closed
        }
    }

    private void tick() {
        Moment now = look();
        while (window.size() > 1 && now.ns - second().ns >= windowNs) {
            window.removeFirst();
        }
        Moment then = window.peekFirst();
        window.addLast(now);
        if (then == null || now.ns - then.ns < windowNs) {
            return;
        }
        String passed = passed(then, now);
        if (passed != null) {
            String why = passed + ", the bound of bounds." + (passed.startsWith("CPU") ? "cpu_percent" : "latency_ms");
            if (silence) {
                probe.silence(why);
            } else {
                probe.disarm(why);
            }
        }
    }

    private Moment second() {
        java.util.Iterator<Moment> moments = window.iterator();
        moments.next();
        return moments.next();
    }

    private Moment look() {
        Moment moment = new Moment();
        if (latencyMs > 0) {
            for (Point point : Probes.points()) {
                for (Cells cells : new Cells[] {point.business, point.shadow}) {
                    moment.slow.put(cells, new long[] {cells.sampled(), cells.above((long) (latencyMs * 1e6))});
                }
            }
        }
        return moment;
    }

    private String passed(Moment then, Moment now) {
        double cpu = 100.0 * (now.cpuNs - then.cpuNs) / (now.ns - then.ns) / Runtime.getRuntime().availableProcessors();
        if (cpuPercent > 0 && cpu > cpuPercent) {
            return String.format("CPU %.0f %% is above %.0f %%", cpu, cpuPercent);
        }
        for (Point point : latencyMs > 0 ? Probes.points() : java.util.Collections.<Point>emptyList()) {
            for (Cells cells : new Cells[] {point.business, point.shadow}) {
                long[] before = then.slow.getOrDefault(cells, new long[2]);
                long[] after = now.slow.getOrDefault(cells, before);
                long calls = after[0] - before[0];
                if (calls >= LEAST && after[1] - before[1] > calls / 100) {
                    return String.format("%s takes more than %.3g ms in 1 %% of its calls", point.name(), latencyMs);
                }
            }
        }
        return null;
    }

    @Override
    public void close() {
        if (thread != null) {
            thread.interrupt();
        }
    }
}
