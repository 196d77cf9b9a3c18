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
        return f == null || f instanceof Pool.Carried ? f : new Pool.Carried(f);
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

    public static <V> Callable<V> callable(Callable<V> f) {
        return f == null ? null : new Call<>(f);
    }

    public static <V> Supplier<V> supplier(Supplier<V> f) {
        return f == null ? null : new Supply<>(f);
    }

    public static <A, V> Function<A, V> function(Function<A, V> f) {
        return f == null ? null : new Apply<>(f);
    }

    public static <A> Consumer<A> consumer(Consumer<A> f) {
        return f == null ? null : new Accept<>(f);
    }

    public static <A, B, V> BiFunction<A, B, V> biFunction(BiFunction<A, B, V> f) {
        return f == null ? null : new BiApply<>(f);
    }

    public static <A, B> BiConsumer<A, B> biConsumer(BiConsumer<A, B> f) {
        return f == null ? null : new BiAccept<>(f);
    }

    private static final class Call<V> extends Held implements Callable<V> {
        private final Callable<V> f;

        Call(Callable<V> f) {
            this.f = f;
        }

        @Override
        public V call() throws Exception {
            try (Mark.Scope scope = open()) {
                return f.call();
            }
        }
    }

    private static final class Supply<V> extends Held implements Supplier<V> {
        private final Supplier<V> f;

        Supply(Supplier<V> f) {
            this.f = f;
        }

        @Override
        public V get() {
            try (Mark.Scope scope = open()) {
                return f.get();
            }
        }
    }

    private static final class Apply<A, V> extends Held implements Function<A, V> {
        private final Function<A, V> f;

        Apply(Function<A, V> f) {
            this.f = f;
        }

        @Override
        public V apply(A a) {
            try (Mark.Scope scope = open()) {
                return f.apply(a);
            }
        }
    }

    private static final class Accept<A> extends Held implements Consumer<A> {
        private final Consumer<A> f;

        Accept(Consumer<A> f) {
            this.f = f;
        }

        @Override
        public void accept(A a) {
            try (Mark.Scope scope = open()) {
                f.accept(a);
            }
        }
    }

    private static final class BiApply<A, B, V> extends Held implements BiFunction<A, B, V> {
        private final BiFunction<A, B, V> f;

        BiApply(BiFunction<A, B, V> f) {
            this.f = f;
        }

        @Override
        public V apply(A a, B b) {
            try (Mark.Scope scope = open()) {
                return f.apply(a, b);
            }
        }
    }

    private static final class BiAccept<A, B> extends Held implements BiConsumer<A, B> {
        private final BiConsumer<A, B> f;

        BiAccept(BiConsumer<A, B> f) {
            this.f = f;
        }

        @Override
        public void accept(A a, B b) {
            try (Mark.Scope scope = open()) {
                f.accept(a, b);
            }
        }
    }
}
