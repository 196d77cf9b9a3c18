package weir.probe.control;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/** This process, by what Linux tells of it: the JDK's management beans are a module of their own, and slow to start. */
final class Host {
    private static final long TICK_NS = 10_000_000; // of /proc, on every architecture

    private Host() {}

    static long pid() throws IOException {
        return Long.parseLong(new File("/proc/self").getCanonicalFile().getName());
    }

    static int uid() throws IOException {
        return (Integer) Files.getAttribute(Paths.get("/proc/self"), "unix:uid");
    }

    static String name() {
        try {
            return read("/proc/sys/kernel/hostname").trim();
        } catch (IOException e) {
            return "localhost";
        }
    }

    /** CPU time of the process, in nanoseconds and exact to 10 ms; ended threads are in it. */
    static long cpuNs() {
        try {
            String stat = read("/proc/self/stat");
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" "); // a name can have spaces
            return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * TICK_NS;
        } catch (IOException | RuntimeException e) {
            return 0;
        }
    }

    static String read(String path) throws IOException {
        return new String(Files.readAllBytes(Paths.get(path)), StandardCharsets.UTF_8);
    }
}
