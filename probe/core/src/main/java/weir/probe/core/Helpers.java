package weir.probe.core;

import static org.objectweb.asm.Opcodes.*;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import weir.probe.boot.Point;

/**
 * Calls from woven code to the sites of a join point. A class file of version 51 and later holds the
 * {@code invokedynamic} itself. An older one, and a class of {@code java.*} (whose linking must not run in the middle of
 * anything), calls a generated class that holds it.
 */
final class Helpers {
    private static final Handle LINK = new Handle(H_INVOKESTATIC, "weir/probe/boot/Probes", "link",
            "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;Ljava/lang/String;)"
                    + "Ljava/lang/invoke/CallSite;", false);

    private Helpers() {}

    static Weave.Calls direct(Point point) {
        return new Weave.Calls() {
            @Override
            public AbstractInsnNode to(String role, String descriptor) {
                return new InvokeDynamicInsnNode(role, descriptor, LINK, point.name());
            }

            @Override
            public boolean typed() {
                return true;
            }
        };
    }

    /** Gathers the calls of one join point in one class; {@link #define} makes the helper that they name. */
    static final class Indirect implements Weave.Calls {
        private final Map<String, String> roles = new LinkedHashMap<>();
        private final Point point;
        private final ClassLoader loader;
        private final String name;

        Indirect(Point point, ClassLoader loader, String woven) {
            this.point = point;
            this.loader = loader;
            String unique = (point.name() + '_' + woven).replaceAll("[^A-Za-z0-9]", "_");
            name = (loader == null ? "weir/probe/boot/P_" : "weir/probe/point/P_") + unique;
        }

        @Override
        public AbstractInsnNode to(String role, String descriptor) {
            roles.put(role + descriptor, role);
            return new MethodInsnNode(INVOKESTATIC, name, role, descriptor, false);
        }

        @Override
        public boolean typed() {
            return false;
        }

        void define(Jvm jvm) throws ReflectiveOperationException {
            if (roles.isEmpty()) {
                return;
            }
            String dotted = name.replace('/', '.');
            try { // by an earlier attach: a second definition would fail, but cost metaspace each time
                Class.forName(dotted, false, loader);
                return;
            } catch (ClassNotFoundException first) {
                jvm.define(dotted, bytes(), loader);
            }
            if (loader == null) { // link now, so that no link happens inside the JDK's own methods
                for (Method method : Class.forName(dotted, true, null).getMethods()) {
                    if (method.getDeclaringClass().getName().equals(dotted)) {
                        link(method);
                    }
                }
            }
        }

        private static void link(Method method) throws ReflectiveOperationException {
            Object[] arguments = new Object[method.getParameterCount()];
            for (int i = 0; i < arguments.length; i++) {
                Class<?> type = method.getParameterTypes()[i];
                arguments[i] = type.isPrimitive() ? java.lang.reflect.Array.get(java.lang.reflect.Array.newInstance(type, 1), 0) : null;
            }
            method.invoke(null, arguments);
        }

        byte[] bytes() {
            ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
            writer.visit(V1_8, ACC_PUBLIC | ACC_FINAL | ACC_SYNTHETIC, name, null, "java/lang/Object", null);
            roles.forEach((key, role) -> {
                String descriptor = key.substring(role.length());
                MethodVisitor code = writer.visitMethod(ACC_PUBLIC | ACC_STATIC, role, descriptor, null, null);
                code.visitCode();
                int slot = 0;
                for (Type type : Type.getArgumentTypes(descriptor)) {
                    code.visitVarInsn(type.getOpcode(ILOAD), slot);
                    slot += type.getSize();
                }
                code.visitInvokeDynamicInsn(role, descriptor, LINK, point.name());
                code.visitInsn(Type.getReturnType(descriptor).getOpcode(IRETURN));
                code.visitMaxs(0, 0);
                code.visitEnd();
            });
            writer.visitEnd();
            return writer.toByteArray();
        }
    }
}
