package weir.probe.plugin.scheduled;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;
import org.springframework.scheduling.config.Task;
import weir.probe.api.Log;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** The jobs that are known, and their shadow runs. */
public final class Jobs {
    private static final Set<ScheduledTaskRegistrar> REGISTRARS = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private static final Set<Runnable> RUN = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    /** Jobs that have a shadow run under way. */
    private static final Set<String> RUNNING = Collections.synchronizedSet(new java.util.HashSet<>());

    private Jobs() {}

    public static boolean registrar(ScheduledTaskRegistrar registrar) {
        REGISTRARS.add(registrar);
        return false;
    }

    public static boolean job(Runnable job) {
        RUN.add(job);
        return false;
    }

    /** Nothing to check: a job is code of the application, and what it touches is other plugins' to isolate. */
    public static String check() {
        return null;
    }

    /** Starts a shadow run of a job, on a thread of its own; or lists the jobs. */
    public static String run(String name) {
        Map<String, Runnable> jobs = new TreeMap<>();
        synchronized (RUN) {
            RUN.forEach(job -> jobs.put(job.toString(), job));
        }
        synchronized (REGISTRARS) {
            for (ScheduledTaskRegistrar registrar : REGISTRARS) {
                for (List<? extends Task> tasks : Arrays.asList(registrar.getCronTaskList(), registrar.getTriggerTaskList(),
                        registrar.getFixedRateTaskList(), registrar.getFixedDelayTaskList())) {
                    tasks.forEach(task -> jobs.putIfAbsent(task.getRunnable().toString(), task.getRunnable()));
                }
            }
        }
        Runnable job = jobs.get(name);
        if (job == null) {
            return (name.isEmpty() ? "jobs: " : "no job " + name + ", but: ") + String.join(", ", jobs.keySet());
        }
        if (!Mark.accepting()) {
            return name + " is refused: the probe is not armed";
        }
        if (!RUNNING.add(name)) {
            return name + " has a shadow run under way";
        }
        Thread thread = new Thread(() -> shadow(name, job), "weir-shadow-job");
        thread.setDaemon(true);
        thread.setContextClassLoader(job.getClass().getClassLoader());
        thread.start();
        return name + " runs";
    }

    private static void shadow(String name, Runnable job) {
        try (Mark.Scope scope = Mark.open(new Mark("1"))) {
            job.run();
            Log.line("scheduled: shadow run of " + name + " ended");
        } catch (ShadowRefused e) {
            Log.line("scheduled: shadow run of " + name + " is refused: " + e.getMessage());
        } catch (RuntimeException | Error e) {
            Log.line("scheduled: shadow run of " + name + " failed: " + e);
        } finally {
            RUNNING.remove(name);
        }
    }
}
