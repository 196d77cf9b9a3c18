package weir.probe.plugin.executors;

import weir.probe.boot.Mark;

/**
 * Periodic tasks of libraries are business work: a pool's or a registry's housekeeping, which the first request happens to
 * start, serves all later ones.
 */
public final class Periodic {
    private Periodic() {}

    public static Object enter(Runnable task) {
        return task == null || Start.inherits(task.getClass().getName()) ? null : Mark.open(null);
    }

    public static void exit(Object hidden, Throwable thrown) {
        ((Mark.Scope) hidden).close();
    }
}
