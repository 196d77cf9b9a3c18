package weir.probe.control;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import weir.probe.api.Plugin;
import weir.probe.boot.Cells;
import weir.probe.boot.Clock;
import weir.probe.boot.Gate;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;
import weir.probe.core.Probe;

/** What join points have cost since the start or the last reset. */
final class Ledger {
    private final Probe probe;
    private long sinceNs = System.nanoTime();
    private long cpuNs = Host.cpuNs();

    Ledger(Probe probe) {
        this.probe = probe;
    }

    synchronized void reset() {
        Probes.reset();
        sinceNs = System.nanoTime();
        cpuNs = Host.cpuNs();
    }

    synchronized JsonObject report() {
        JsonObject report = new JsonObject();
        report.put("window_s", (System.nanoTime() - sinceNs) / 1e9);
        report.put("cpu_ns", Host.cpuNs() - cpuNs);
        report.put("requests", requests(probe));
        JsonArray points = new JsonArray();
        for (Point point : Probes.points()) {
            if (point.sites() == 0) {
                continue; // woven into no method that has run
            }
            add(points, point, "business", point.business);
            add(points, point, "shadow", point.shadow);
            if (point.mode() == Point.Mode.OFF) {
                add(points, point, "silent", null);
            }
        }
        report.put("points", points);
        return report;
    }

    /** Calls at edges: one for each request, at the plugin's first join point of every call. */
    static long requests(Probe probe) {
        return probe.plugins().stream().filter(plugin -> plugin.plugin.role() == Plugin.Role.EDGE)
                .flatMap(plugin -> plugin.points.keySet().stream().filter(point -> point.gate == Gate.ALWAYS).limit(1))
                .mapToLong(point -> point.business.calls() + point.shadow.calls()).sum();
    }

    /** Nanoseconds of all calls: of CPU in handlers by the calls that were timed, and of tests of the mark. */
    static double total(Point point, Cells cells) {
        return (point.gate == Gate.MARK && cells == point.business ? Clock.test() : cells.mean()) * cells.calls();
    }

    /** A silent join point is a constant to the JIT compiler: its calls are not counted, and take no time. */
    private static void add(JsonArray points, Point point, String traffic, Cells cells) {
        JsonObject row = new JsonObject();
        row.put("plugin", point.plugin);
        row.put("join_point", point.id);
        row.put("traffic", traffic);
        row.put("calls", cells == null ? 0 : cells.calls());
        row.put("sampled", cells == null ? 0 : cells.sampled());
        row.put("ns_total", cells == null ? 0 : Math.round(total(point, cells)));
        row.put("ns_p50", cells == null ? 0 : cells.quantile(0.5));
        row.put("ns_p99", cells == null ? 0 : cells.quantile(0.99));
        points.add(row);
    }
}
