package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static weir.probe.agent.Jvms.check;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

/**
 * A fuzzer of call graphs. Each run is a random tree of calls through pools, futures, threads, retries and failures, whose
 * leaves write to a database and a log; half of the runs are marked, and eight go on at once in the same pools. What is in the
 * stores in the end is compared with what was written. {@code WEIR_GRAPHS} is the number of runs, {@code WEIR_SEED} the seed.
 */
class CallGraphTest {
    private static final String TABLE = "create table writes (run int, shadow boolean)";

    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void no_shadow_write_reaches_a_business_store_and_no_mark_is_lost(String home, @TempDir Path dir) throws Exception {
        Path config = dir.resolve("probe.json");
        String log = dir.resolve("app.log").toString();
        Files.write(config, ("{\"shadow\": {\"jdbc\": [{\"business\": \"*\", \"shadow\": {\"url\": \"" + Program.url("shadow") + "\"}}]}}").getBytes());
        String runs = System.getenv().getOrDefault("WEIR_GRAPHS", "2000");
        String seed = System.getenv().getOrDefault("WEIR_SEED", Long.toString(System.nanoTime()));
        String out = Jvms.of(home).agent("config=" + config).limit(120 + Integer.parseInt(runs) / 50).run(Program.class, runs, seed, log);
        assertTrue(out.contains("nothing lost"), out);
        System.out.println(home + ": " + out.substring(out.indexOf("graphs:")).trim());
    }

    /** The tree of a run: drawn from its seed as it is walked. */
    private static final class Run {
        final int id;
        final boolean shadow;
        /** Leaves that have written, and those that were refused. */
        final AtomicInteger written = new AtomicInteger();
        final AtomicInteger refused = new AtomicInteger();

        Run(int id, boolean shadow) {
            this.id = id;
            this.shadow = shadow;
        }
    }

    static final class Failure extends Exception {
        Failure() {
            super("planned");
        }
    }

    interface Way {
        void call(Callable<Void> work) throws Exception;
    }

    static final class Program {
        private static final int AT_ONCE = 8;
        private static final Map<String, Way> WAYS = new HashMap<>();
        private static final List<String> NAMES = new ArrayList<>();
        private static final Map<String, AtomicLong> TAKEN = new ConcurrentHashMap<>();
        private static HikariDataSource source;
        private static Logger logger;
        private static final AtomicLong LOST = new AtomicLong();

        static String url(String name) {
            return "jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1";
        }

        public static void main(String[] arguments) throws Exception {
            ((Logger) org.slf4j.LoggerFactory.getLogger("ROOT")).setLevel(ch.qos.logback.classic.Level.WARN); // HikariCP's
            int runs = Integer.parseInt(arguments[0]);
            Random random = new Random(Long.parseLong(arguments[1]));
            Path log = Paths.get(arguments[2]);
            execute("business", TABLE);
            execute("shadow", TABLE);
            HikariConfig hikari = new HikariConfig();
            hikari.setJdbcUrl(url("business"));
            hikari.setMaximumPoolSize(6);
            source = new HikariDataSource(hikari);
            logger = logger(log);
            ways();
            write(new Run(-1, false));
            Thread.sleep(300); // HikariCP's first housekeeping
            String armed = Probes.command("arm");
            Run[] all = new Run[runs];
            Semaphore free = new Semaphore(AT_ONCE);
            List<Throwable> faults = java.util.Collections.synchronizedList(new ArrayList<>());
            ExecutorService drivers = Executors.newFixedThreadPool(AT_ONCE);
            for (int i = 0; i < runs; i++) {
                Run run = all[i] = new Run(i, random.nextBoolean());
                long seed = random.nextLong();
                free.acquire();
                drivers.execute(() -> {
                    try (Mark.Scope mark = run.shadow ? Mark.open(new Mark("1")) : null) {
                        node(run, new Random(seed), 0).call();
                    } catch (Failure planned) {
                        // reached the top
                    } catch (ShadowRefused refused) {
                        run.refused.incrementAndGet();
                    } catch (Throwable e) {
                        faults.add(e);
                    } finally {
                        free.release();
                    }
                });
                // The isolation goes while traffic is there: shadow writes are then refused, and no others.
                if (runs > 100 && i % (runs / 20) == runs / 40) {
                    Probes.command("silence jdbc");
                } else if (runs > 100 && i % (runs / 20) == runs / 40 + runs / 80) {
                    Probes.command("wake jdbc");
                }
            }
            free.acquire(AT_ONCE);
            Probes.command("wake jdbc");
            faults.forEach(Throwable::printStackTrace);
            check(faults.isEmpty(), "seed " + arguments[1] + ": " + faults.size() + " runs failed, " + armed);
            check(LOST.get() == 0, "seed " + arguments[1] + ": " + LOST + " calls had another mark than their run");
            compare(all, "business", false);
            compare(all, "shadow", true);
            lines(all, log, false);
            lines(all, Paths.get(log + ".shadow"), true);
            long writes = java.util.Arrays.stream(all).mapToLong(run -> run.written.get()).sum();
            long shadow = java.util.Arrays.stream(all).filter(run -> run.shadow).mapToLong(run -> run.written.get()).sum();
            long refused = java.util.Arrays.stream(all).mapToLong(run -> run.refused.get()).sum();
            check(java.util.Arrays.stream(all).noneMatch(run -> !run.shadow && run.refused.get() > 0), "business was refused");
            check(shadow > runs / 4, "too few shadow writes to tell: " + shadow);
            System.out.println("graphs: " + runs + " runs, seed " + arguments[1] + ", " + writes + " writes, " + shadow
                    + " of them shadow, " + refused + " refused, nothing lost; calls by " + new java.util.TreeMap<>(TAKEN));
        }

        /** A call that goes on to other calls, or writes. */
        private static Callable<Void> node(Run run, Random random, int depth) {
            return () -> {
                if (Mark.marked() != run.shadow) {
                    LOST.incrementAndGet();
                }
                if (depth == 4 || random.nextInt(4) == 0) {
                    write(run);
                    if (random.nextInt(12) == 0) {
                        throw new Failure();
                    }
                    return null;
                }
                int calls = 1 + random.nextInt(2);
                for (int i = 0; i < calls; i++) {
                    String name = NAMES.get(random.nextInt(NAMES.size()));
                    TAKEN.computeIfAbsent(name, way -> new AtomicLong()).incrementAndGet();
                    long seed = random.nextLong();
                    for (int tries = random.nextInt(3); ; tries--) {
                        try {
                            WAYS.get(name).call(node(run, new Random(seed + tries), depth + 1));
                            break;
                        } catch (Exception e) {
                            Throwable cause = e;
                            while (cause.getCause() != null && !(cause instanceof Failure) && !(cause instanceof ShadowRefused)) {
                                cause = cause.getCause();
                            }
                            if (cause instanceof ShadowRefused) {
                                throw (ShadowRefused) cause;
                            }
                            if (!(cause instanceof Failure)) {
                                throw e;
                            }
                            if (tries <= 0) {
                                if (random.nextBoolean()) {
                                    throw (Failure) cause;
                                }
                                break;
                            }
                        }
                        if (Mark.marked() != run.shadow) {
                            LOST.incrementAndGet();
                        }
                    }
                }
                if (Mark.marked() != run.shadow) {
                    LOST.incrementAndGet();
                }
                return null;
            };
        }

        private static void write(Run run) throws Exception {
            try (Connection connection = source.getConnection();
                    PreparedStatement insert = connection.prepareStatement("insert into writes values (?, ?)")) {
                insert.setInt(1, run.id);
                insert.setBoolean(2, run.shadow);
                insert.execute();
            }
            run.written.incrementAndGet();
            logger.info("{} {}", run.id, run.shadow ? "shadow" : "business");
        }

        /** Ways to get from one call to the next. Pools have threads enough for a tree, and some are nested in others. */
        private static void ways() throws Exception {
            ExecutorService pool = new ThreadPoolExecutor(2, 4096, 1, TimeUnit.SECONDS, new SynchronousQueue<>());
            ExecutorService nested = new ThreadPoolExecutor(2, 4096, 1, TimeUnit.SECONDS, new SynchronousQueue<>());
            ScheduledExecutorService scheduled = Executors.newScheduledThreadPool(64);
            ForkJoinPool fork = new ForkJoinPool(64);
            way("inline", Callable::call);
            way("submit", work -> pool.submit(work).get());
            way("execute", work -> {
                FutureTask<Void> task = new FutureTask<>(work);
                pool.execute(task);
                task.get();
            });
            way("nested", work -> pool.submit(() -> nested.submit(work).get()).get());
            way("invoke-all", work -> {
                for (Future<Void> each : nested.invokeAll(java.util.Collections.singletonList(work))) {
                    each.get();
                }
            });
            way("invoke-any", work -> pool.invokeAny(java.util.Collections.singletonList(work)));
            way("schedule", work -> scheduled.schedule(work, 10, TimeUnit.MICROSECONDS).get());
            way("thread", work -> {
                FutureTask<Void> task = new FutureTask<>(work);
                Thread thread = new Thread(task);
                thread.start();
                thread.join();
                task.get();
            });
            way("fork", work -> fork.submit(work).get());
            way("recursive", work -> fork.invoke(new RecursiveTask<Void>() {
                @Override
                protected Void compute() {
                    RecursiveTask<Void> inner = new RecursiveTask<Void>() {
                        @Override
                        protected Void compute() {
                            return quietly(work);
                        }
                    };
                    inner.fork();
                    return inner.join();
                }
            }));
            way("parallel", work -> fork.submit(() -> IntStream.range(0, 4).parallel().forEach(i -> {
                if (i == 2) {
                    quietly(work);
                }
            })).get());
            way("supply", work -> CompletableFuture.supplyAsync(() -> quietly(work), pool).get());
            way("chain", work -> CompletableFuture.runAsync(() -> { }, nested).thenApplyAsync(ignored -> quietly(work), pool)
                    .whenCompleteAsync((ignored, thrown) -> { }, nested).get());
            way("compose", work -> CompletableFuture.completedFuture(1).thenComposeAsync(
                    one -> CompletableFuture.supplyAsync(() -> quietly(work), nested), pool).get());
            way("handle", work -> {
                CompletableFuture<Void> later = new CompletableFuture<>();
                CompletableFuture<Void> handled = later.handleAsync((ignored, thrown) -> quietly(work), pool);
                nested.execute(() -> later.completeExceptionally(new Failure()));
                handled.get();
            });
            way("combine", work -> CompletableFuture.supplyAsync(() -> 1, pool)
                    .thenCombineAsync(CompletableFuture.supplyAsync(() -> 2, nested), (one, two) -> quietly(work), pool).get());
            try { // JDK 21
                ExecutorService virtual = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
                way("virtual", work -> virtual.submit(work).get());
            } catch (NoSuchMethodException before21) {
                // without
            }
        }

        private static void way(String name, Way way) {
            WAYS.put(name, way);
            NAMES.add(name);
        }

        private static Void quietly(Callable<Void> work) {
            try {
                return work.call();
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        private static void compare(Run[] all, String database, boolean shadow) throws Exception {
            int[] found = new int[all.length];
            try (Connection connection = DriverManager.getConnection(url(database)); Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("select run, shadow from writes where run >= 0")) {
                while (rows.next()) {
                    check(rows.getBoolean(2) == shadow, "the " + database + " database has a write of the other kind, run " + rows.getInt(1));
                    found[rows.getInt(1)]++;
                }
            }
            for (Run run : all) {
                int wanted = run.shadow == shadow ? run.written.get() : 0;
                check(found[run.id] == wanted, "run " + run.id + " has " + found[run.id] + " rows in " + database + ", not " + wanted);
            }
        }

        private static void lines(Run[] all, Path file, boolean shadow) throws Exception {
            int[] found = new int[all.length];
            for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
                String[] words = line.split(" ");
                check(words[1].equals(shadow ? "shadow" : "business"), file + " has a line of the other kind: " + line);
                if (!words[0].equals("-1")) {
                    found[Integer.parseInt(words[0])]++;
                }
            }
            for (Run run : all) {
                int wanted = run.shadow == shadow ? run.written.get() : 0;
                check(found[run.id] == wanted, "run " + run.id + " has " + found[run.id] + " lines in " + file + ", not " + wanted);
            }
        }

        private static void execute(String database, String sql) throws Exception {
            try (Connection connection = DriverManager.getConnection(url(database)); Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }

        private static Logger logger(Path file) {
            LoggerContext context = new LoggerContext();
            PatternLayoutEncoder encoder = new PatternLayoutEncoder();
            encoder.setContext(context);
            encoder.setPattern("%msg%n");
            encoder.start();
            FileAppender<ILoggingEvent> appender = new FileAppender<>();
            appender.setContext(context);
            appender.setFile(file.toString());
            appender.setEncoder(encoder);
            appender.start();
            Logger logger = context.getLogger("graphs");
            logger.addAppender(appender);
            return logger;
        }
    }
}
