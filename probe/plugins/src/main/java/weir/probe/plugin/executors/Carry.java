package weir.probe.plugin.executors;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;

/** Functions that run under the mark of the thread that gave them, not of the one that runs them. Called on marked threads only. */
public final class Carry {
    private Carry() {}

    public static Runnable runnable(Runnable f) {
        return f == null || f instanceof Pool.Carried ? f : new Pool.Carried(f, new Held()) {
            @Override
            public void run() {
                if (!held.isOver()) { // a periodic task that throws is never run again
                    super.run();
                }
            }
        };
    }

    public static Runnable periodic(Runnable f) {
        return f == null || Start.inherits(f.getClass().getName()) ? runnable(f) : f;
    }

    public static <V> Callable<V> callable(Callable<V> f) {
        Held held = held(f);
        return f == null ? null : () -> {
            try (Mark.Scope scope = held.open()) {
                return f.call();
            }
        };
    }

    public static <V> Collection<Callable<V>> callables(Collection<? extends Callable<V>> tasks) {
        if (tasks == null) {
            return null;
        }
        List<Callable<V>> carried = new ArrayList<>();
        for (Callable<V> task : tasks) {
            carried.add(callable(task));
        }
        return carried;
    }

    public static <V> Supplier<V> supplier(Supplier<V> f) {
        Held held = held(f);
        return f == null ? null : () -> {
            try (Mark.Scope scope = held.open()) {
                return f.get();
            }
        };
    }

    public static <A, V> Function<A, V> function(Function<A, V> f) {
        Held held = held(f);
        return f == null ? null : a -> {
            try (Mark.Scope scope = held.open()) {
                return f.apply(a);
            }
        };
    }

    public static <A> Consumer<A> consumer(Consumer<A> f) {
        Held held = held(f);
        return f == null ? null : a -> {
            try (Mark.Scope scope = held.open()) {
                f.accept(a);
            }
        };
    }

    public static <A, B, V> BiFunction<A, B, V> biFunction(BiFunction<A, B, V> f) {
        Held held = held(f);
        return f == null ? null : (a, b) -> {
            try (Mark.Scope scope = held.open()) {
                return f.apply(a, b);
            }
        };
    }

    public static <A, B> BiConsumer<A, B> biConsumer(BiConsumer<A, B> f) {
        Held held = held(f);
        return f == null ? null : (a, b) -> {
            try (Mark.Scope scope = held.open()) {
                f.accept(a, b);
            }
        };
    }

    private static Held held(Object f) {
        return f == null ? null : new Held();
    }
}
