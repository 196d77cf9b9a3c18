package weir.probe.plugin.executors;

import weir.probe.boot.Mark;

/**
 * Around {@code CompletableFuture.postComplete}, on a marked thread. Stages that business threads have given to a future
 * run unmarked, whoever completes it; those of marked threads carry their own mark.
 */
public final class Complete {
    private Complete() {}

    public static Object enter() {
        return Mark.open(null);
    }

    public static void exit(Object token, Throwable thrown) {
        ((Mark.Scope) token).close();
    }
}
