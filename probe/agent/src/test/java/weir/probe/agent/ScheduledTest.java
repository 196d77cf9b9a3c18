package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

class ScheduledTest {
    @Test
    void a_job_runs_under_the_mark_on_request_and_as_business_by_schedule() throws Exception {
        String out = Jvms.of(System.getProperty("java.home")).agent("").run(Program.class);
        assertTrue(out.contains("scheduled: shadow run of " + Jobs.class.getName() + ".often ended"), out);
    }

    @EnableScheduling
    public static class Jobs {
        static final BlockingQueue<String> RUNS = new LinkedBlockingQueue<>();

        @Scheduled(fixedDelay = 200)
        public void often() {
            RUNS.add(Mark.marked() ? "shadow" : "business");
        }

        @Scheduled(cron = "0 0 3 1 1 *")
        public void yearly() {
            RUNS.add(Mark.marked() ? "shadow-yearly" : "yearly");
        }
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(Jobs.class);
            await("business");
            String often = Jobs.class.getName() + ".often";
            String refused = Probes.command("run scheduled " + often);
            Jvms.check(refused.contains("not armed"), refused);
            System.out.println(Probes.command("arm"));
            String jobs = Probes.command("run scheduled");
            Jvms.check(jobs.contains(often) && jobs.contains(".yearly"), jobs);
            Jvms.check(Probes.command("run scheduled x").startsWith("no job x"), "an unknown job runs");
            Jobs.RUNS.clear();
            Jvms.check(Probes.command("run scheduled " + often).endsWith("runs"), "it does not run");
            await("shadow");
            Probes.command("run scheduled " + Jobs.class.getName() + ".yearly");
            await("shadow-yearly");
            await("business");
            context.close();
            System.exit(0);
        }

        private static void await(String wanted) throws InterruptedException {
            for (String run; (run = Jobs.RUNS.poll(5, TimeUnit.SECONDS)) != null; ) {
                if (run.equals(wanted)) {
                    return;
                }
            }
            throw new AssertionError("no run as " + wanted);
        }
    }
}
