package weir.probe.core;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** The files of plugins, by their path: classes and {@code plugins.txt}. */
public interface Source {
    /** The file's bytes, or null if there is none. */
    byte[] read(String path) throws IOException;

    static byte[] all(InputStream in) throws IOException {
        if (in == null) {
            return null;
        }
        try (InputStream from = in) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[8192];
            for (int n; (n = from.read(buffer)) >= 0; ) {
                bytes.write(buffer, 0, n);
            }
            return bytes.toByteArray();
        }
    }
}
