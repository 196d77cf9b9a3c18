package weir.probe.plugin.executors;

import static weir.probe.api.JoinPoint.THIS;

import java.util.ArrayList;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * Hands the mark on to other threads. More than one join point, because the JDK has no one place through which work
 * passes; each is a constant until armed, and all that take a mark up again stay one flag's read until a mark is kept.
 *
 * <p>Not seen: {@code java.util.Timer}, {@code SubmissionPublisher}, {@code ForkJoinPool.lazySubmit} and {@code externalSubmit}, a pool's queue read by
 * {@code getQueue()}, which holds wrapped tasks, and one {@code Comparable} task object that is queued by marked and
 * unmarked threads at once.
 */
public final class ExecutorsPlugin implements Plugin {
    private static final String POOL = "java.util.concurrent.ThreadPoolExecutor#";
    private static final String FORK = "java.util.concurrent.ForkJoinTask#";
    private static final String FORKS = "java.util.concurrent.ForkJoinPool#";
    private static final String FUTURE = "java.util.concurrent.CompletableFuture#";
    private static final String RUNNABLE = "(Ljava/lang/Runnable;";
    private static final String TASK = "(Ljava/util/concurrent/ForkJoinTask;";

    private final List<JoinPoint> points = new ArrayList<>();

    public ExecutorsPlugin() {
        argument("execute", POOL + "execute" + RUNNABLE + ")V", 0, "Pool.execute").passing(THIS);
        taken("stale", POOL + "execute" + RUNNABLE + ")V", "Pool.unmarked");
        taken("remove", POOL + "remove" + RUNNABLE + ")Z", "Pool.removed");
        taken("reject", POOL + "reject" + RUNNABLE + ")V", "Pool.returned");
        points.add(JoinPoint.result("drain", POOL + "drainQueue()Ljava/util/List;", "Pool.originals").gate(Gate.CAPTURED));
        worker("run", "run()V", 0, "Pool.adopted");
        worker("before", "beforeExecute(Ljava/lang/Thread;Ljava/lang/Runnable;)V", 0, "Pool.original");
        worker("after", "afterExecute(Ljava/lang/Runnable;Ljava/lang/Throwable;)V", 1, "Pool.original");

        argument("callable", "java.util.concurrent.FutureTask#<init>(Ljava/util/concurrent/Callable;)V", 0, "Carry.callable");
        argument("runnable", "java.util.concurrent.FutureTask#<init>" + RUNNABLE + "Ljava/lang/Object;)V", 0, "Carry.runnable");

        attach("fork", FORK + "fork()*", THIS);
        attach("invoke", FORK + "invoke()*", THIS);
        attach("quietly", FORK + "quietlyInvoke()V", THIS);
        attach("invoke-two", FORK + "invokeAll" + TASK + "Ljava/util/concurrent/ForkJoinTask;)V", 0);
        attach("invoke-array", FORK + "invokeAll([Ljava/util/concurrent/ForkJoinTask;)V", 0);
        attach("invoke-list", FORK + "invokeAll(Ljava/util/Collection;)*", 0);
        attach("pool-execute-task", FORKS + "execute" + TASK + ")V", 0);
        attach("pool-submit-task", FORKS + "submit" + TASK + ")*", 0);
        attach("pool-invoke", FORKS + "invoke" + TASK + ")*", 0);
        points.add(JoinPoint.around("exec", FORK + "doExec()*", "Fork").passing(THIS).gate(Gate.CAPTURED));
        argument("pool-execute", FORKS + "execute" + RUNNABLE + ")V", 0, "Fork.runnable");
        String task = ")Ljava/util/concurrent/ForkJoinTask;";
        argument("pool-submit", FORKS + "submit" + RUNNABLE + task, 0, "Fork.runnable");
        argument("pool-submit-result", FORKS + "submit" + RUNNABLE + "Ljava/lang/Object;" + task, 0, "Carry.runnable");
        argument("pool-submit-callable", FORKS + "submit(Ljava/util/concurrent/Callable;" + task, 0, "Carry.callable");
        argument("pool-all", FORKS + "invokeAll", 0, "Carry.callables").optional();
        argument("pool-all-uninterruptibly", FORKS + "invokeAllUninterruptibly", 0, "Carry.callables").optional();
        argument("pool-timeout", FORKS + "submitWithTimeout", 0, "Carry.callable").optional();
        argument("pool-any", FORKS + "invokeAny", 0, "Carry.callables").optional();
        String when = ";JLjava/util/concurrent/TimeUnit;)*";
        argument("pool-schedule-runnable", FORKS + "schedule(Ljava/lang/Runnable" + when, 0, "Carry.runnable").optional();
        argument("pool-schedule-callable", FORKS + "schedule(Ljava/util/concurrent/Callable" + when, 0, "Carry.callable").optional();
        argument("pool-rate", FORKS + "scheduleAtFixedRate", 0, "Carry.periodic").optional();
        argument("pool-delay", FORKS + "scheduleWithFixedDelay", 0, "Carry.periodic").optional();
        for (String method : new String[] {"scheduleAtFixedRate", "scheduleWithFixedDelay"}) {
            points.add(JoinPoint.around(method, "java.util.concurrent.ScheduledThreadPoolExecutor#" + method, "Periodic").passing(0));
        }

        String[][] stages = {
            {"asyncSupply", "supplier", "1"}, {"asyncRun", "runnable", "1"},
            {"uniApply", "function", "1"}, {"uniAccept", "consumer", "1"}, {"uniRun", "runnable", "1"},
            {"uniWhenComplete", "biConsumer", "1"}, {"uniHandle", "biFunction", "1"}, {"uniCompose", "function", "1"},
            {"biApply", "biFunction", "2"}, {"biAccept", "biConsumer", "2"}, {"biRun", "runnable", "2"},
            {"orApply", "function", "2"}, {"orAccept", "consumer", "2"}, {"orRun", "runnable", "2"},
        };
        for (String[] stage : stages) {
            argument(stage[0], FUTURE + stage[0] + "Stage", Integer.parseInt(stage[2]), "Carry." + stage[1]);
        }
        argument("complete-async", FUTURE + "completeAsync(Ljava/util/function/Supplier;Ljava/util/concurrent/Executor;)*", 0, "Carry.supplier")
                .optional();
        argument("delayed", "java.util.concurrent.CompletableFuture$DelayedExecutor#execute" + RUNNABLE + ")V", 0, "Fork.runnable").optional();
        String function = "Ljava/util/function/Function;)Ljava/util/concurrent/CompletableFuture;";
        argument("exceptionally-8", FUTURE + "uniExceptionallyStage(" + function, 0, "Carry.function").optional();
        argument("exceptionally", FUTURE + "uniExceptionallyStage(Ljava/util/concurrent/Executor;" + function, 1, "Carry.function").optional();
        argument("exceptionally-compose", FUTURE + "uniComposeExceptionallyStage", 1, "Carry.function").optional();
        points.add(JoinPoint.around("complete", FUTURE + "postComplete()V", "Complete"));

        String container = "start(Ljdk/internal/vm/ThreadContainer;)V";
        start("start", "java.lang.Thread#start()V");
        start("start-container", "java.lang.Thread#" + container).optional();
        start("start-virtual", "java.lang.VirtualThread#" + container).optional();
    }

    private JoinPoint add(JoinPoint point) {
        points.add(point);
        return point;
    }

    private JoinPoint argument(String id, String target, int index, String handler) {
        return add(JoinPoint.argument(id, target, index, handler));
    }

    private JoinPoint taken(String id, String target, String handler) {
        return argument(id, target, 0, handler).gate(Gate.CAPTURED);
    }

    private void worker(String id, String call, int fromTop, String handler) {
        add(JoinPoint.operand(id, POOL + "runWorker", call, fromTop, handler)).gate(Gate.CAPTURED);
    }

    private void attach(String id, String target, int passed) {
        add(JoinPoint.enter(id, target, "Fork.attach")).passing(passed).optional();
    }

    private JoinPoint start(String id, String target) {
        return add(JoinPoint.enter(id, target, "Start.thread")).passing(THIS);
    }

    @Override
    public String name() {
        return "executors";
    }

    @Override
    public String library() {
        return "java.util.concurrent of JDK 8 to 25";
    }

    @Override
    public Role role() {
        return Role.CARRIER;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return points;
    }
}
