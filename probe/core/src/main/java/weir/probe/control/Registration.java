package weir.probe.control;

import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collections;
import java.util.EnumSet;

/** The file by which commands on this machine find the probe and its token; only the process's user can read it. */
final class Registration implements AutoCloseable {
    private final Path file;

    Registration(String directory, JsonObject about) throws IOException {
        Path dir = Paths.get(directory);
        try {
            Files.createDirectory(dir, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException e) {
            own(dir);
        }
        sweep(dir);
        file = dir.resolve(about.getLong("pid") + ".json");
        Path part = dir.resolve(about.getLong("pid") + ".part");
        Files.deleteIfExists(part);
        EnumSet<StandardOpenOption> fresh = EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        Files.newByteChannel(part, fresh, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))).close();
        Files.write(part, Collections.singleton(JsonWriter.string(about)), StandardCharsets.UTF_8);
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Somebody else may have made the directory in {@code /tmp} first, or a link to another. */
    private static void own(Path dir) throws IOException {
        if (!Files.isDirectory(dir, LinkOption.NOFOLLOW_LINKS)
                || !Files.getAttribute(dir, "unix:uid", LinkOption.NOFOLLOW_LINKS).equals(Host.uid())
                || PosixFilePermissions.toString(Files.getPosixFilePermissions(dir)).substring(3).indexOf('w') >= 0) {
            throw new IOException(dir + " is not a directory that only this user can write to");
        }
    }

    /** Removes what killed processes have left. */
    private static void sweep(Path dir) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(dir, "*.json")) {
            for (Path old : files) {
                String pid = old.getFileName().toString().replace(".json", "");
                if (pid.matches("[0-9]+") && !Files.exists(Paths.get("/proc", pid))) {
                    Files.deleteIfExists(old);
                }
            }
        }
    }

    @Override
    public void close() throws IOException {
        Files.deleteIfExists(file);
    }
}
