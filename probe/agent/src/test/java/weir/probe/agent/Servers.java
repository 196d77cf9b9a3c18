package weir.probe.agent;

import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** Real servers for tests, each on a free port with a directory of its own; they end with the test that started them. */
final class Servers implements AutoCloseable {
    private static final String POSTGRES = System.getenv().getOrDefault("WEIR_POSTGRES", "/usr/lib/postgresql/15/bin");

    /** After which the machine is too slow for the test, which is skipped; a server that ends fails it. */
    private static final long START_S = 30;

    final int port;
    private final Process process;

    private Servers(int port, Process process) {
        this.port = port;
        this.process = process;
    }

    static boolean hasPostgres() {
        return new File(POSTGRES, "initdb").canExecute();
    }

    static boolean hasRedis() {
        return Arrays.stream(System.getenv("PATH").split(":")).anyMatch(path -> new File(path, "redis-server").canExecute());
    }

    /** PostgreSQL with the user {@code shop}, who may log in to all databases without a password. */
    static Servers postgres(Path dir) throws Exception {
        int port = free();
        Path data = dir.resolve("data" + port);
        Files.createDirectory(data);
        if (isRoot()) {
            run("chmod", "711", dir.toString());
            run("chown", "postgres", data.toString());
        }
        run(unprivileged(POSTGRES + "/initdb", "-D", data.toString(), "-U", "admin", "-A", "trust", "--no-sync"));
        Servers server = start(port, dir, unprivileged(POSTGRES + "/postgres", "-D", data.toString(), "-p", String.valueOf(port), "-k", "",
                "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"));
        server.psql("postgres", "create role shop login createdb");
        return server;
    }

    static Servers redis(Path dir) throws Exception {
        int port = free();
        return start(port, dir, Arrays.asList("redis-server", "--port", String.valueOf(port), "--bind", "127.0.0.1", "--save", "",
                "--dir", dir.toString()));
    }

    static Servers start(int port, Path dir, List<String> command) throws Exception {
        Path log = dir.resolve("server" + port + ".log");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        for (long end = System.nanoTime() + START_S * 1_000_000_000L; System.nanoTime() < end; ) {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress("127.0.0.1", port), 100);
                Thread.sleep(300);
                return new Servers(port, process);
            } catch (IOException notYet) {
                if (!process.isAlive()) {
                    break;
                }
                Thread.sleep(100);
            }
        }
        boolean slow = process.isAlive();
        process.destroyForcibly();
        Assumptions.assumeFalse(slow, command.get(command.size() - 2) + " does not listen within " + START_S + " s");
        throw new AssertionError(command + " ended:\n" + new String(Files.readAllBytes(log)));
    }

    void psql(String database, String... statements) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(POSTGRES + "/psql", "-q", "-h", "127.0.0.1", "-p", String.valueOf(port),
                "-U", database.equals("postgres") ? "admin" : "shop", "-d", database, "-v", "ON_ERROR_STOP=1"));
        for (String statement : statements) {
            Collections.addAll(command, "-c", statement);
        }
        run(command);
    }

    static int free() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static boolean isRoot() {
        return System.getProperty("user.name").equals("root");
    }

    /** PostgreSQL refuses to run as root. */
    private static List<String> unprivileged(String... command) {
        List<String> all = new ArrayList<>();
        if (isRoot()) {
            all.addAll(Arrays.asList("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"));
        }
        Collections.addAll(all, command);
        return all;
    }

    private static void run(String... command) throws Exception {
        run(Arrays.asList(command));
    }

    private static void run(List<String> command) throws Exception {
        Path output = Files.createTempFile("weir-probe", ".out");
        Process process = new ProcessBuilder(command).directory(new File("/")).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        boolean ended = process.waitFor(60, TimeUnit.SECONDS);
        String text = new String(Files.readAllBytes(output));
        Files.delete(output);
        if (!ended || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new AssertionError(command + ":\n" + text);
        }
    }

    /** Ends the server at once, PostgreSQL in its way that leaves no children. */
    @Override
    public void close() throws Exception {
        long pid = (long) Process.class.getMethod("pid").invoke(process);
        new ProcessBuilder("kill", "-QUIT", String.valueOf(pid)).start().waitFor();
        if (!process.waitFor(5, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
        }
    }
}
