package weir.probe.agent;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Proxy;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import weir.probe.boot.Probes;

/**
 * Loads the agent's inside from the jar, in a loader of its own that goes when the agent leaves. Public: the bootstrap
 * loader finds this class before the loader of {@link Agent} does.
 */
public final class Inside extends ClassLoader {
    private final JarFile jar;

    private Inside(JarFile jar) {
        super(ClassLoader.getSystemClassLoader().getParent());
        this.jar = jar;
    }

    /** Starts the inside, or carries out the command behind an exclamation mark; returns what came of it. */
    public static String run(File file, String arguments, Instrumentation instrumentation) throws Exception {
        if (arguments != null && arguments.startsWith("!")) {
            String answer = Probes.command(arguments.substring(1));
            System.err.println("weir-probe: " + answer);
            return answer;
        }
        if (Probes.isAttached()) {
            throw new IllegalStateException("it is attached already, and stays as it is");
        }
        if (Probes.VERSION != version()) {
            throw new IllegalArgumentException("another version was attached to this JVM before; restart it");
        }
        Inside inside = new Inside(new JarFile(file));
        Class<?> source = inside.loadClass("weir.probe.core.Source");
        Object plugins = Proxy.newProxyInstance(inside, new Class<?>[] {source},
                (proxy, method, a) -> inside.read("weir-probe/plugins/" + a[0]));
        inside.loadClass("weir.probe.core.Core").getMethod("start", Instrumentation.class, source, String.class)
                .invoke(null, instrumentation, plugins, arguments);
        return "attached";
    }

    /** Of the boot classes in this JVM, read at run time: the compiler would write this jar's own constant here. */
    private static int version() throws ReflectiveOperationException {
        return Probes.class.getField("VERSION").getInt(null);
    }

    private byte[] read(String path) throws IOException {
        JarEntry entry = jar.getJarEntry(path);
        if (entry == null) {
            return null;
        }
        try (InputStream in = jar.getInputStream(entry)) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[8192];
            for (int n; (n = in.read(buffer)) >= 0; ) {
                bytes.write(buffer, 0, n);
            }
            return bytes.toByteArray();
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        try {
            byte[] bytes = read("weir-probe/core/" + name.replace('.', '/') + ".class");
            if (bytes == null) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }
}
