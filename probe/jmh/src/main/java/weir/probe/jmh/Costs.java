package weir.probe.jmh;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * Runs all costs and prints them as one table: {@code java -jar benchmarks.jar weir-probe.jar [forks] [seconds]}. The
 * states take turns, one fork each, so that a machine that slows down slows all of them.
 */
public final class Costs {
    private static final String[] STATES = {"none", "silent", "disarmed", "armed", "armed-live"};

    private Costs() {}

    public static void main(String[] arguments) throws Exception {
        int forks = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 20;
        int seconds = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1;
        Path config = Files.createTempFile("weir-probe", ".json");
        try {
            Files.write(config, ("{\"plugins\": {\"executors\": false, \"logback\": false}, \"shadow\": {\"mock\": [{\"class\":"
                    + " \"weir.probe.jmh.Service\", \"method\": \"price\", \"return\": 1}]}}").getBytes(StandardCharsets.UTF_8));
            String agent = "-javaagent:" + arguments[0] + "=config=" + config;
            List<List<double[]>> rows = new ArrayList<>();
            for (int fork = 0; fork < forks; fork++) {
                for (int i = 0; i < STATES.length; i++) {
                    if (fork == 0) {
                        rows.add(new ArrayList<>());
                    }
                    ChainedOptionsBuilder options = options("BusinessCall", seconds);
                    rows.get(i).addAll(figures(i == 0 ? options.jvmArgs("-Dweir.state=none")
                            : options.jvmArgs(agent, "-Dweir.state=" + STATES[i])));
                }
            }
            for (int i = 0; i < STATES.length; i++) {
                print(STATES[i], rows.get(i));
            }
            for (RunResult result : new Runner(options("Alternatives", seconds).forks(Math.min(forks, 5)).build()).run()) {
                print(result.getPrimaryResult().getLabel(), Collections.singletonList(figures(result)));
            }
        } finally {
            Files.delete(config);
        }
    }

    private static ChainedOptionsBuilder options(String name, int seconds) {
        return new OptionsBuilder().include("\\." + name + "\\.").forks(1).warmupIterations(3).measurementIterations(3)
                .warmupTime(TimeValue.seconds(seconds)).measurementTime(TimeValue.seconds(seconds))
                .addProfiler(GCProfiler.class).shouldFailOnError(true).verbosity(org.openjdk.jmh.runner.options.VerboseMode.SILENT);
    }

    private static List<double[]> figures(ChainedOptionsBuilder options) throws RunnerException {
        List<double[]> figures = new ArrayList<>();
        Collection<RunResult> results = new Runner(options.build()).run();
        results.forEach(result -> figures.add(figures(result)));
        return figures;
    }

    private static double[] figures(RunResult result) {
        double bytes = Double.NaN;
        for (Result<?> secondary : result.getSecondaryResults().values()) {
            if (secondary.getLabel().endsWith("gc.alloc.rate.norm")) {
                bytes = secondary.getScore();
            }
        }
        return new double[] {result.getPrimaryResult().getScore(), bytes};
    }

    /** Median of the forks with its 95 % interval, by order statistics, and the most that one allocated. */
    private static void print(String name, List<double[]> forks) {
        double[] ns = forks.stream().mapToDouble(fork -> fork[0]).sorted().toArray();
        double bytes = forks.stream().mapToDouble(fork -> fork[1]).max().orElse(Double.NaN);
        int n = ns.length;
        int low = Math.max(0, (int) Math.floor(n / 2.0 - 0.98 * Math.sqrt(n)));
        System.out.printf("%-16s %8.2f ns  [%.2f, %.2f]  %.3f B/op  %d forks%n", name, ns[n / 2], ns[low], ns[n - 1 - low], bytes, n);
    }
}
