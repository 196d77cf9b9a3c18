package weir.probe.plugin.scheduled;

import static weir.probe.api.JoinPoint.THIS;

import java.util.Arrays;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * Shadow runs of Spring's {@code @Scheduled} jobs: the command {@code run scheduled Class.method} runs a job once under the
 * mark; {@code run scheduled} lists the jobs. The schedule itself stays business. Two join points, both rarely reached: the
 * registrar as the application starts, and a job as it runs, for a probe that came later.
 *
 * <p>Not seen: tasks that the application gives to a {@code TaskScheduler} or a {@code ScheduledExecutorService} itself, Quartz, XXL-Job. A
 * shadow run may overlap with a business run of the same object.
 */
public final class ScheduledPlugin implements Plugin {
    @Override
    public String name() {
        return "scheduled";
    }

    @Override
    public String library() {
        return "spring-context 5.0 to 6";
    }

    @Override
    public Role role() {
        return Role.EDGE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Arrays.asList(
                JoinPoint.enter("registrar", "org.springframework.scheduling.config.ScheduledTaskRegistrar#scheduleTasks()V", "Jobs.registrar")
                        .passing(THIS).gate(Gate.ALWAYS)
                        .expecting("org.springframework.scheduling.config.ScheduledTaskRegistrar.getTriggerTaskList()Ljava/util/List;",
                                "org.springframework.scheduling.config.Task.getRunnable()Ljava/lang/Runnable;"),
                JoinPoint.enter("job", "org.springframework.scheduling.support.ScheduledMethodRunnable#run()V", "Jobs.job").passing(THIS));
    }

    @Override
    public String check() {
        return "Jobs";
    }
}
