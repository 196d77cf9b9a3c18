package weir.probe.agent;

import static weir.probe.agent.Jvms.check;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

/** A periodic task of the application outlives a time without shadow traffic; one of a library is business work. */
class PeriodicTest {
    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void periodic_tasks_go_on(String home) throws Exception {
        Jvms.of(home).agent("state=armed").run(Program.class);
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
            AtomicInteger marked = new AtomicInteger();
            AtomicInteger library = new AtomicInteger();
            ScheduledFuture<?> own;
            ScheduledFuture<?> other;
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                own = timer.scheduleAtFixedRate(() -> marked.addAndGet(Mark.marked() ? 1 : 1_000_000), 0, 5, TimeUnit.MILLISECONDS);
                Runnable ofJava = new Thread(() -> library.addAndGet(Mark.marked() ? 1_000_000 : 1));
                other = timer.scheduleWithFixedDelay(ofJava, 0, 5, TimeUnit.MILLISECONDS);
            }
            more(marked);
            Probes.command("disarm");
            more(library);
            int stopped = marked.get();
            more(library);
            check(marked.get() == stopped, "a periodic task of shadow traffic runs while that is refused");
            Probes.command("arm");
            more(marked);
            check(marked.get() < 1_000_000 && library.get() < 1_000_000, "own " + marked + ", library's " + library);
            own.cancel(false);
            other.cancel(false);
            System.exit(0);
        }

        private static void more(AtomicInteger count) throws InterruptedException {
            int before = count.get();
            for (int i = 0; i < 1000 && count.get() < before + 3; i++) {
                Thread.sleep(5);
            }
            check(count.get() >= before + 3, "a periodic task has ended");
        }
    }
}
