package weir.probe.jmh;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MutableCallSite;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** The choices that were made, beside what was not chosen: a folded constant or a volatile flag, a value or an exception. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Alternatives {
    private static final MethodHandle FOLDED = new MutableCallSite(MethodHandles.constant(boolean.class, false)).dynamicInvoker();
    private static volatile boolean flag;

    private final Service service = new Service();
    private final int depth = 20;
    private int amount = 7;

    static final class Leave extends RuntimeException {
        private static final long serialVersionUID = 1;
        final int value;

        Leave(int value) {
            this.value = value;
        }
    }

    @Benchmark
    public int gateNone() {
        return service.price(amount);
    }

    @Benchmark
    public int gateFolded() throws Throwable {
        return (boolean) FOLDED.invokeExact() ? 1 : service.price(amount);
    }

    @Benchmark
    public int gateVolatile() {
        return flag ? 1 : service.price(amount);
    }

    @Benchmark
    public int cutByValue() {
        return below(depth, false);
    }

    @Benchmark
    public int cutByException() {
        try {
            return below(depth, true);
        } catch (Leave leave) {
            return leave.value;
        }
    }

    /** A handler some calls deep, as one is in an application: the depth is what a stack trace costs. */
    private int below(int calls, boolean exception) {
        if (calls > 0) {
            return below(calls - 1, exception) + 1;
        }
        if (exception) {
            throw new Leave(amount);
        }
        return amount;
    }

}
