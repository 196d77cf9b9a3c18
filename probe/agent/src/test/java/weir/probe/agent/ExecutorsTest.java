package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static weir.probe.agent.Jvms.check;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

class ExecutorsTest {
    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void the_mark_follows_marked_work_and_no_other(String home) throws Exception {
        String out = Jvms.of(home).agent("state=armed").run(Carries.class);
        assertTrue(out.contains("all held"), out);
    }

    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void tasks_keep_their_identity(String home) throws Exception {
        String out = Jvms.of(home).agent("state=armed").run(Identity.class);
        assertTrue(out.contains("all held"), out);
    }

    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void marked_work_that_is_left_over_when_silenced_is_not_run_unmarked(String home) throws Exception {
        String out = Jvms.of(home).agent("state=armed").run(LeftOver.class);
        assertTrue(out.contains("all held"), out);
    }

    /** Runs a probe of the mark in some other thread and returns what it found. */
    interface Way {
        boolean run(Callable<Boolean> probe) throws Exception;
    }

    static final class Carries {
        static final ExecutorService POOL = Executors.newFixedThreadPool(2);
        static final ScheduledExecutorService TIMER = Executors.newScheduledThreadPool(1);
        static final ForkJoinPool FORKS = new ForkJoinPool(2);

        public static void main(String[] arguments) throws Exception {
            Map<String, Way> ways = ways();
            List<String> broken = new ArrayList<>();
            for (int round = 0; round < 3; round++) {
                ways.forEach((name, way) -> {
                    expect(broken, name, way, false);
                    try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                        expect(broken, name, way, true);
                        check(Mark.marked(), name + " takes the caller's mark");
                    }
                    check(!Mark.marked(), name + " leaves a mark");
                    expect(broken, name, way, false);
                });
            }
            completions(broken);
            threads();
            check(broken.isEmpty(), broken.toString());
            long deadline = System.nanoTime() + 10_000_000_000L;
            while (Mark.live() > 0 && System.nanoTime() < deadline) {
                System.gc();
                Thread.sleep(20);
            }
            check(Mark.live() == 0, "marks are left: " + Mark.live());
            System.out.println("all held " + ways.size());
            System.exit(0);
        }

        private static void expect(List<String> broken, String name, Way way, boolean marked) {
            try {
                if (way.run(Mark::marked) != marked) {
                    broken.add(name + (marked ? " loses the mark" : " marks business work"));
                }
            } catch (Exception e) {
                broken.add(name + ": " + e);
            }
        }

        /** A future that is completed by the other kind of traffic than the one that added the stage. */
        private static void completions(List<String> broken) throws Exception {
            for (boolean stageMarked : new boolean[] {false, true}) {
                for (boolean async : new boolean[] {false, true}) {
                    CompletableFuture<Integer> source = new CompletableFuture<>();
                    CompletableFuture<Boolean> stage;
                    try (Mark.Scope scope = Mark.open(stageMarked ? new Mark("1") : null)) {
                        stage = async ? source.thenApplyAsync(x -> Mark.marked(), POOL) : source.thenApply(x -> Mark.marked());
                    }
                    try (Mark.Scope scope = Mark.open(stageMarked ? null : new Mark("1"))) {
                        source.complete(1);
                    }
                    if (stage.get(5, TimeUnit.SECONDS) != stageMarked) {
                        broken.add("completion, stage marked " + stageMarked + ", async " + async);
                    }
                }
            }
        }

        /** Threads that a marked one makes or touches, and business work on them. */
        private static void threads() throws Exception {
            ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
                    work -> new Thread(() -> work.run()));
            CountDownLatch twice = new CountDownLatch(1);
            CompletableFuture<Boolean> found = new CompletableFuture<>();
            Thread running = new Thread(() -> {
                Identity.await(twice);
                found.complete(Mark.marked());
            });
            running.start();
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                check(pool.submit(Mark::marked).get(), "a task that its pool's first thread runs");
                running.start();
                throw new AssertionError("a thread starts twice");
            } catch (IllegalThreadStateException expected) {
                twice.countDown();
            }
            check(!pool.submit(Mark::marked).get(), "business work on a worker that a marked thread has started");
            check(!found.get(5, TimeUnit.SECONDS), "a thread that runs is marked by a second start");
            pool.shutdown();
        }

        /** A pool whose handler of rejected tasks waits until they fit. */
        private static boolean queuedAgain(Callable<Boolean> probe) throws Exception {
            ThreadPoolExecutor full = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new ArrayBlockingQueue<>(1), (task, pool) -> {
                try {
                    pool.getQueue().put(task);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            try (Mark.Scope business = Mark.open(null)) {
                CountDownLatch hold = new CountDownLatch(1);
                full.execute(() -> Identity.await(hold));
                full.execute(() -> Identity.await(hold));
                TIMER.schedule(hold::countDown, 20, TimeUnit.MILLISECONDS);
            }
            try {
                return signalled(full::execute, probe);
            } finally {
                full.shutdown();
            }
        }

        private static Map<String, Way> ways() throws Exception {
            Map<String, Way> ways = new LinkedHashMap<>();
            ways.put("execute", probe -> signalled(task -> POOL.execute(task), probe));
            ways.put("rejected, queued again", Carries::queuedAgain);
            ways.put("submit callable", probe -> POOL.submit(probe).get(5, TimeUnit.SECONDS));
            ways.put("submit runnable", probe -> signalled(task -> POOL.submit(task), probe));
            ways.put("invokeAll", probe -> POOL.invokeAll(Collections.singletonList(probe)).get(0).get());
            ways.put("invokeAny", probe -> POOL.invokeAny(Collections.singletonList(probe)));
            ways.put("nested", probe -> POOL.submit(() -> TIMER.submit(probe).get()).get(5, TimeUnit.SECONDS));
            ways.put("schedule", probe -> TIMER.schedule(probe, 1, TimeUnit.MILLISECONDS).get(5, TimeUnit.SECONDS));
            ways.put("periodic", probe -> {
                CountDownLatch third = new CountDownLatch(3);
                AtomicInteger marked = new AtomicInteger();
                ScheduledFuture<?> future = TIMER.scheduleAtFixedRate(() -> {
                    try {
                        marked.addAndGet(third.getCount() > 0 && probe.call() ? 1 : 0);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                    third.countDown();
                }, 0, 1, TimeUnit.MILLISECONDS);
                third.await(5, TimeUnit.SECONDS);
                future.cancel(false);
                check(marked.get() == 0 || marked.get() == 3, "periodic: marked " + marked + " of 3");
                return marked.get() == 3;
            });
            ways.put("future task in a thread of the application", probe -> {
                FutureTask<Boolean> task = new FutureTask<>(probe);
                new Thread(task).start();
                return task.get(5, TimeUnit.SECONDS);
            });
            ways.put("fork-join submit", probe -> FORKS.submit(probe).get(5, TimeUnit.SECONDS));
            ways.put("fork-join execute", probe -> signalled(task -> FORKS.execute(task), probe));
            ways.put("fork-join invokeAll", probe -> FORKS.invokeAll(Arrays.asList(probe, probe)).get(1).get());
            ways.put("recursive task", probe -> FORKS.invoke(new Sum(6, probe)) == 64);
            ways.put("parallel stream", probe -> {
                long marked = IntStream.range(0, 2000).parallel().filter(i -> call(probe)).count();
                check(marked == 0 || marked == 2000, "parallel stream: marked " + marked + " of 2000");
                return marked == 2000;
            });
            ways.put("supplyAsync", probe -> CompletableFuture.supplyAsync(() -> call(probe)).get(5, TimeUnit.SECONDS));
            ways.put("runAsync, pool", probe -> signalled(task -> CompletableFuture.runAsync(task, POOL), probe));
            ways.put("thenApplyAsync", probe -> CompletableFuture.completedFuture(1).thenApplyAsync(x -> call(probe), POOL).get());
            ways.put("handle", probe -> late().handle((x, e) -> call(probe)).get());
            ways.put("whenComplete", probe -> signalled(task -> late().whenComplete((x, e) -> task.run()), probe));
            ways.put("thenCompose", probe -> late().thenCompose(x -> CompletableFuture.completedFuture(call(probe))).get());
            ways.put("thenCombine", probe -> late().thenCombine(late(), (x, y) -> call(probe)).get());
            ways.put("applyToEither", probe -> late().applyToEither(late(), x -> call(probe)).get());
            ways.put("thenAccept", probe -> signalled(task -> late().thenAccept(x -> task.run()), probe));
            ways.put("thenRun", probe -> signalled(task -> late().thenRun(task), probe));
            ways.put("exceptionally", probe -> {
                CompletableFuture<Boolean> failing = new CompletableFuture<>();
                CompletableFuture<Boolean> stage = failing.exceptionally(e -> call(probe));
                TIMER.schedule(() -> failing.completeExceptionally(new IllegalStateException()), 1, TimeUnit.MILLISECONDS);
                return stage.get(5, TimeUnit.SECONDS);
            });
            ways.put("thread", probe -> signalled(task -> new Thread(task).start(), probe));
            ways.put("subclass of Thread", probe -> signalled(task -> new Thread() {
                @Override
                public void run() {
                    task.run();
                }
            }.start(), probe));
            try {
                java.lang.reflect.Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                ExecutorService each = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
                ways.put("virtual thread", probe -> signalled(task -> invoke(start, task), probe));
                ways.put("virtual thread per task", probe -> each.submit(probe).get(5, TimeUnit.SECONDS));
            } catch (NoSuchMethodException before21) {
                System.out.println("no virtual threads here");
            }
            try {
                java.lang.reflect.Method complete = CompletableFuture.class.getMethod("completeAsync", java.util.function.Supplier.class);
                java.lang.reflect.Method delay = CompletableFuture.class.getMethod("delayedExecutor", long.class, TimeUnit.class);
                ways.put("completeAsync", probe -> {
                    CompletableFuture<Boolean> future = new CompletableFuture<>();
                    complete.invoke(future, (java.util.function.Supplier<Boolean>) () -> call(probe));
                    return future.get(5, TimeUnit.SECONDS);
                });
                java.util.concurrent.Executor later = (java.util.concurrent.Executor) delay.invoke(null, 1, TimeUnit.MILLISECONDS);
                ways.put("delayedExecutor", probe -> signalled(later::execute, probe));
            } catch (NoSuchMethodException before9) {
                System.out.println("no completeAsync here");
            }
            return ways;
        }

        private static void invoke(java.lang.reflect.Method start, Runnable task) {
            try {
                start.invoke(null, task);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        private static CompletableFuture<Integer> late() {
            CompletableFuture<Integer> late = new CompletableFuture<>();
            try (Mark.Scope business = Mark.open(null)) {
                TIMER.schedule(() -> late.complete(1), 1, TimeUnit.MILLISECONDS);
            }
            return late;
        }

        private static boolean signalled(java.util.function.Consumer<Runnable> start, Callable<Boolean> probe) throws Exception {
            CompletableFuture<Boolean> found = new CompletableFuture<>();
            start.accept(() -> found.complete(call(probe)));
            return found.get(5, TimeUnit.SECONDS);
        }

        private static boolean call(Callable<Boolean> probe) {
            try {
                return probe.call();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Counts the leaves of a tree that find a mark. */
    static final class Sum extends RecursiveTask<Integer> {
        private static final long serialVersionUID = 1;
        private final int depth;
        private final transient Callable<Boolean> probe;

        Sum(int depth, Callable<Boolean> probe) {
            this.depth = depth;
            this.probe = probe;
        }

        @Override
        protected Integer compute() {
            if (depth == 0) {
                return Carries.call(probe) ? 1 : 0;
            }
            Sum left = new Sum(depth - 1, probe);
            Sum right = new Sum(depth - 1, probe);
            if (depth % 2 == 0) {
                invokeAll(left, right);
                return left.join() + right.join();
            }
            left.fork();
            return right.compute() + left.join();
        }
    }

    static class Ranked implements Runnable, Comparable<Ranked> {
        private final int rank;
        private final List<Integer> order;

        Ranked(int rank, List<Integer> order) {
            this.rank = rank;
            this.order = order;
        }

        @Override
        public int compareTo(Ranked other) {
            return Integer.compare(rank, other.rank);
        }

        @Override
        public void run() {
            order.add(Mark.marked() ? rank : -rank);
        }
    }

    static final class Identity {
        public static void main(String[] arguments) throws Exception {
            AtomicReference<Runnable> seenBefore = new AtomicReference<>();
            AtomicReference<Runnable> seenAfter = new AtomicReference<>();
            ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>()) {
                @Override
                protected void beforeExecute(Thread thread, Runnable task) {
                    seenBefore.set(task);
                }

                @Override
                protected void afterExecute(Runnable task, Throwable thrown) {
                    seenAfter.set(task);
                }
            };
            CountDownLatch hold = new CountDownLatch(1);
            pool.execute(() -> await(hold));
            Runnable removed = () -> System.out.println("removed tasks must not run");
            Runnable ran = () -> check(Mark.marked(), "unmarked");
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                pool.execute(removed);
                pool.execute(ran);
            }
            check(pool.remove(removed), "a marked task cannot be removed by its own object");
            check(!pool.remove(removed), "it is removed twice");
            hold.countDown();
            pool.submit(() -> { }).get();
            Thread.sleep(50);
            pool.execute(() -> { });
            Thread.sleep(50);
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                pool.execute(ran);
            }
            Thread.sleep(100);
            check(seenBefore.get() == ran && seenAfter.get() == ran, "hooks see another task: " + seenBefore + ' ' + seenAfter);

            AtomicReference<Runnable> rejected = new AtomicReference<>();
            ThreadPoolExecutor small = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(1), (task, p) -> rejected.set(task));
            CountDownLatch block = new CountDownLatch(1);
            small.execute(() -> await(block));
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                small.execute(ran);
                small.execute(removed);
            }
            check(rejected.get() == removed, "the rejection handler sees another task");
            check(small.shutdownNow().equals(Collections.singletonList(ran)), "shutdownNow returns other tasks");

            List<Integer> order = Collections.synchronizedList(new ArrayList<>());
            ThreadPoolExecutor ranks = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new PriorityBlockingQueue<>());
            CountDownLatch gate = new CountDownLatch(1);
            ranks.execute(new Ranked(0, order) {
                @Override
                public void run() {
                    await(gate);
                }
            });
            for (int rank = 6; rank > 0; rank--) {
                try (Mark.Scope shadow = Mark.open(rank % 2 == 0 ? new Mark("1") : null)) {
                    ranks.execute(new Ranked(rank, order));
                }
            }
            gate.countDown();
            ranks.shutdown();
            check(ranks.awaitTermination(5, TimeUnit.SECONDS), "priority pool hangs");
            check(order.equals(Arrays.asList(-1, 2, -3, 4, -5, 6)), "order or marks: " + order);

            ExecutorService plain = Executors.newFixedThreadPool(1);
            Future<?> future;
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                future = plain.submit(() -> Mark.marked());
                check(future.getClass() == FutureTask.class, "submit returns " + future.getClass());
            }
            check(Boolean.TRUE.equals(future.get()), "the future's task is unmarked");
            System.out.println("all held");
            System.exit(0);
        }

        private static void await(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static final class LeftOver {
        public static void main(String[] arguments) throws Exception {
            List<String> ran = Collections.synchronizedList(new ArrayList<>());
            ThreadPoolExecutor one = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
            ThreadPoolExecutor ranks = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new PriorityBlockingQueue<>());
            ForkJoinPool forks = new ForkJoinPool(1);
            CountDownLatch hold = new CountDownLatch(1);
            one.execute(() -> Identity.await(hold));
            ranks.execute(() -> Identity.await(hold));
            forks.execute(() -> Identity.await(hold));
            Thread.sleep(50);
            Future<?> forked;
            Future<?> submitted;
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                one.execute(() -> ran.add("wrapped " + Mark.marked()));
                submitted = one.submit(() -> ran.add("future " + Mark.marked()));
                ranks.execute(new Ranked(1, new ArrayList<>()) {
                    @Override
                    public void run() {
                        ran.add("attached " + Mark.marked());
                    }
                });
                forked = forks.submit(new Sum(0, () -> ran.add("forked " + Mark.marked())));
            }
            one.execute(() -> ran.add("business " + Mark.marked()));
            CompletableFuture<Integer> source = new CompletableFuture<>();
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                source.whenComplete((x, e) -> ran.add("callback " + Mark.marked()));
            }
            Probes.command("silence");
            Thread.sleep(300);
            source.complete(1);
            hold.countDown();
            one.shutdown();
            ranks.shutdown();
            forks.shutdown();
            check(one.awaitTermination(5, TimeUnit.SECONDS) && ranks.awaitTermination(5, TimeUnit.SECONDS)
                    && forks.awaitTermination(5, TimeUnit.SECONDS), "a pool hangs");
            Collections.sort(ran);
            check(ran.equals(Arrays.asList("attached true", "business false", "callback true", "forked true", "future true", "wrapped true")),
                    "ran: " + ran);
            forked.get(1, TimeUnit.SECONDS);
            submitted.get(1, TimeUnit.SECONDS);
            Probes.command("wake");
            Probes.command("arm");
            ExecutorService pool = Executors.newCachedThreadPool();
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                Probes.command("silence executors");
                check(pool.submit(Mark::marked).get(5, TimeUnit.SECONDS), "what a marked thread submits loses its mark when carriers are silenced");
            }
            Probes.command("wake executors");
            Probes.command("arm");
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                Probes.command("leave");
                throw new AssertionError("the probe leaves, and this thread is marked");
            } catch (IllegalStateException expected) {
                check(expected.getMessage().startsWith("1 marked tasks are under way"), expected.getMessage());
            }
            check(Probes.command("leave").equals("left"), "it does not leave afterwards");
            System.out.println("all held");
            System.exit(0);
        }
    }
}
