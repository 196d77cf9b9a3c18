package weir.probe.jmh;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

/**
 * A business call of a method with a join point. {@link Costs} runs it without the agent and in each state, which the
 * property {@code weir.state} names; {@code armed-live} has a mark open on another thread all the while.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class BusinessCall {
    private final Service service = new Service();
    private int amount = 7;

    @Setup
    public void reach() throws Exception {
        String state = System.getProperty("weir.state", "none");
        if (state.equals("none")) {
            return;
        }
        service.price(1);
        if (state.startsWith("armed")) {
            String answer = Probes.command("arm");
            try (Mark.Scope scope = Mark.open(new Mark("1"))) {
                if (service.price(amount) != 1) {
                    throw new IllegalStateException("the method is not woven: " + answer);
                }
            }
        } else {
            Probes.command(state.equals("silent") ? "silence" : "disarm");
        }
        if (state.equals("armed-live")) {
            Thread marked = new Thread(() -> {
                try (Mark.Scope scope = Mark.open(new Mark("1"))) {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            marked.setDaemon(true);
            marked.start();
        }
    }

    @Benchmark
    public int price() {
        return service.price(amount);
    }
}
