package weir.probe.core;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.net.URL;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.MethodNode;
import weir.probe.api.JoinPoint;
import weir.probe.api.Log;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;

/** Weaves join points into the classes that they name. Every other class costs one look into a map. */
final class Weaver implements ClassFileTransformer {
    private static final Pattern VERSION = Pattern.compile("-(\\d[\\w.\\-]*?)\\.jar");

    private final Map<String, List<Loaded>> byClass = new HashMap<>();
    private final Jvm jvm;

    Weaver(Collection<Loaded> plugins, Jvm jvm) {
        this.jvm = jvm;
        for (Loaded plugin : plugins) {
            if (plugin.state() == Loaded.State.OFF) { // by configuration: its classes are left alone
                continue;
            }
            for (JoinPoint point : plugin.points.values()) {
                List<Loaded> list = byClass.computeIfAbsent(point.type.replace('.', '/'), name -> new ArrayList<>());
                if (!list.contains(plugin)) {
                    list.add(plugin);
                }
            }
        }
    }

    /** Whether a class, named with dots, has join points. */
    boolean wants(String name) {
        return byClass.containsKey(name.replace('.', '/'));
    }

    /**
     * Loads the classes of {@code java.*} that have join points. Woven as they load, they would be linked in the middle of
     * their own loading, and a handler that names the class would find it circular.
     */
    void loadPlatform() {
        for (String name : byClass.keySet()) {
            if (name.startsWith("java/") || name.startsWith("sun/nio/")) {
                try {
                    Class.forName(name.replace('/', '.'), false, null);
                } catch (ClassNotFoundException absent) {
                    // not in this JDK
                }
            }
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        List<Loaded> plugins = name == null ? null : byClass.get(name);
        if (plugins == null) {
            return null;
        }
        byte[] woven = null;
        for (Loaded plugin : plugins) {
            if (plugin.state() == Loaded.State.MISMATCH) {
                continue;
            }
            byte[] next = weave(plugin, loader, name, woven == null ? bytes : woven);
            if (next != null) {
                woven = next;
                plugin.sees(loader);
                plugin.found(version(domain));
                if (plugin.state() != Loaded.State.ON) { // a gap from now on
                    Probes.accept(false);
                }
            }
        }
        return woven;
    }

    /** The class with a plugin's join points, or null and the plugin off if it does not fit. */
    private byte[] weave(Loaded plugin, ClassLoader loader, String name, byte[] bytes) {
        try {
            if (loader != null && Class.forName(Probes.class.getName(), false, loader) != Probes.class) {
                throw new IllegalArgumentException(name + "'s class loader does not see the probe");
            }
            Map<Point, JoinPoint> here = new LinkedHashMap<>(); // in their order: as a method returns, the first acts first
            plugin.points.forEach((point, joinPoint) -> {
                if (joinPoint.type.replace('.', '/').equals(name)) {
                    here.put(point, joinPoint);
                }
            });
            List<String> members = new ArrayList<>(plugin.plugin.expects());
            here.values().forEach(point -> members.addAll(point.expected()));
            for (String member : members) {
                if (!has(loader, name, bytes, member)) {
                    throw new IllegalArgumentException(member + " is missing");
                }
            }
            return edit(plugin, here, loader, bytes);
        } catch (Throwable e) { // an Error too: the JVM would load the class as it is and say nothing
            mismatch(plugin, e instanceof IllegalArgumentException ? e.getMessage() : e.toString());
            return null;
        }
    }

    /** A class that is loaded already could not be woven. */
    void failed(String name, Throwable e) {
        byClass.get(name.replace('.', '/')).forEach(plugin -> mismatch(plugin, name + " stays as it was: " + e));
    }

    private static void mismatch(Loaded plugin, String why) {
        plugin.state(Loaded.State.MISMATCH, why);
        Probes.accept(false); // at once; Probe.apply() follows
        Log.line("plugin " + plugin.plugin.name() + " is off: " + why + " (it knows " + plugin.plugin.library() + ')');
    }

    private byte[] edit(Loaded plugin, Map<Point, JoinPoint> here, ClassLoader loader, byte[] bytes)
            throws ReflectiveOperationException {
        ClassReader reader = new ClassReader(bytes);
        String owner = reader.getClassName();
        int version = reader.readShort(6);
        Map<Point, Weave.Calls> calls = new HashMap<>();
        for (Point point : here.keySet()) {
            calls.put(point, version >= Opcodes.V1_7 && loader != null && !owner.startsWith("java/") ? Helpers.direct(point)
                    : new Helpers.Indirect(point, loader, owner));
        }
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        Map<Point, Integer> counts = new HashMap<>();
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
                MethodVisitor next = super.visitMethod(access, name, descriptor, signature, thrown);
                if (here.values().stream().noneMatch(point -> point.matches(name, descriptor))) {
                    return next;
                }
                return new MethodNode(Opcodes.ASM9, access, name, descriptor, signature, thrown) {
                    @Override
                    public void visitEnd() {
                        here.forEach((point, joinPoint) -> {
                            if (joinPoint.matches(name, descriptor)) {
                                Weave.method(owner, version, this, joinPoint, calls.get(point));
                                counts.merge(point, 1, Integer::sum);
                            }
                        });
                        accept(next);
                    }
                };
            }
        }, ClassReader.EXPAND_FRAMES);
        for (Map.Entry<Point, JoinPoint> entry : here.entrySet()) {
            if (!counts.containsKey(entry.getKey()) && !entry.getValue().isOptional()) {
                throw new IllegalArgumentException(owner.replace('/', '.') + " has no method " + entry.getValue().method + entry.getValue().descriptor);
            }
        }
        for (Weave.Calls call : calls.values()) {
            if (call instanceof Helpers.Indirect) {
                ((Helpers.Indirect) call).define(jvm);
            }
        }
        counts.forEach((point, count) -> plugin.woven.get(point).addAndGet(count));
        return counts.isEmpty() ? null : writer.toByteArray();
    }

    /** Whether a class or member is at hand, as its class file tells: nothing is loaded. */
    private static boolean has(ClassLoader loader, String name, byte[] bytes, String member) throws IOException {
        int descriptor = member.indexOf('(');
        String type = descriptor < 0 ? member : member.substring(0, member.lastIndexOf('.', descriptor));
        String path = type.replace('.', '/');
        byte[] file = path.equals(name) ? bytes : Source.all(loader == null
                ? ClassLoader.getSystemResourceAsStream(path + ".class") : loader.getResourceAsStream(path + ".class"));
        if (file == null || descriptor < 0) {
            return file != null;
        }
        boolean[] found = {false};
        new ClassReader(file).accept(new ClassVisitor(Opcodes.ASM9) {
            @Override
            public MethodVisitor visitMethod(int access, String method, String desc, String signature, String[] thrown) {
                found[0] |= (method + desc).equals(member.substring(type.length() + 1));
                return null;
            }
        }, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        return found[0];
    }

    static String version(ProtectionDomain domain) {
        CodeSource source = domain == null ? null : domain.getCodeSource();
        URL location = source == null ? null : source.getLocation();
        String found = "";
        Matcher matcher = VERSION.matcher(location == null ? "" : location.toString());
        while (matcher.find()) {
            found = matcher.group(1);
        }
        return found;
    }
}
