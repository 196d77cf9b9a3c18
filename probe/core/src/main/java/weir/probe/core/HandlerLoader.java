package weir.probe.core;

import java.io.IOException;

/**
 * Loads the classes of one plugin for one class loader of the application. Handlers see the library by the loader that
 * has it, so two versions of it in one JVM each get their own handlers, and both go when the application's loader goes.
 */
final class HandlerLoader extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    private final String prefix;
    private final Source source;

    HandlerLoader(String plugin, Source source, ClassLoader application) {
        super(application);
        this.prefix = "weir.probe.plugin." + plugin + '.';
        this.source = source;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (name.startsWith("weir.probe.api.")) {
            return Class.forName(name, false, HandlerLoader.class.getClassLoader());
        }
        if (name.startsWith("weir.probe.boot.")) {
            return Class.forName(name, false, weir.probe.boot.Probes.class.getClassLoader());
        }
        if (!name.startsWith(prefix) && (!(source instanceof Jar) || name.startsWith("java."))) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : define(name, resolve);
        }
    }

    private Class<?> define(String name, boolean resolve) throws ClassNotFoundException {
        try {
            byte[] bytes = source.read(name.replace('.', '/') + ".class");
            if (bytes != null) {
                return defineClass(name, bytes, 0, bytes.length);
            }
            if (name.startsWith(prefix)) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }
}
