package weir.probe.core;

import java.io.File;
import java.io.IOException;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** A plugin's own jar, with the libraries that the plugin brings; read as it was when the probe started. */
final class Jar implements Source {
    private final File file;
    private final long modified;

    Jar(String path) {
        file = new File(path).getAbsoluteFile();
        modified = file.lastModified();
    }

    @Override
    public byte[] read(String path) throws IOException {
        if (file.lastModified() != modified) {
            throw new IOException(file + " has changed since the probe started");
        }
        try (JarFile jar = new JarFile(file)) {
            JarEntry entry = jar.getJarEntry(path);
            return entry == null ? null : Source.all(jar.getInputStream(entry));
        }
    }
}
