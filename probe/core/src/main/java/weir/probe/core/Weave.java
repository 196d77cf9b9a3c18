package weir.probe.core;

import static org.objectweb.asm.Opcodes.*;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;
import weir.probe.api.JoinPoint;

/**
 * Edits one method for one join point. Written on ASM rather than as Byte Buddy advice: the gate, the mark and the
 * handler are one {@code invokedynamic} here, so an entry is 9 to 20 bytes and needs no local variable.
 */
final class Weave {
    /** Bytes that a join point may add at a method's entry. */
    static final int ENTRY_LIMIT = 20;

    private static final Type OBJECT = Type.getType(Object.class);
    private static final Type THROWABLE = Type.getType(Throwable.class);
    private static final String CUT = "weir/probe/boot/Cut";

    private final String owner;
    private final MethodNode method;
    private final JoinPoint point;
    private final Calls calls;
    private final boolean frames;
    private final boolean isStatic;
    private final Type result;
    private final Type[] arguments;

    /** Emits calls to the sites of a join point: {@code invokedynamic}, or {@code invokestatic} of a helper that has it. */
    interface Calls {
        AbstractInsnNode to(String role, String descriptor);

        /** Whether {@code take} can name the method's result type. */
        boolean typed();
    }

    private Weave(String owner, int version, MethodNode method, JoinPoint point, Calls calls) {
        this.owner = owner;
        this.method = method;
        this.point = point;
        this.calls = calls;
        frames = (version & 0xffff) >= V1_6;
        isStatic = (method.access & ACC_STATIC) != 0;
        result = Type.getReturnType(method.desc);
        arguments = Type.getArgumentTypes(method.desc);
    }

    /** @throws IllegalArgumentException if the join point does not fit the method */
    static void method(String owner, int version, MethodNode method, JoinPoint point, Calls calls) {
        new Weave(owner, version, method, point, calls).weave();
    }

    private void weave() {
        check((method.access & (ACC_ABSTRACT | ACC_NATIVE)) == 0, "has no code");
        boolean constructor = method.name.equals("<init>");
        for (int passed : point.passed()) {
            check(passed < arguments.length, "has no argument " + passed);
            check(passed != JoinPoint.THIS || !isStatic && !constructor, "has no `this` to pass");
        }
        check(!constructor || point.kind == JoinPoint.Kind.ARGUMENT || point.kind == JoinPoint.Kind.OPERAND,
                "is a constructor");
        switch (point.kind) {
            case ENTER:
                enter();
                break;
            case ARGUMENT:
                argument();
                break;
            case RESULT:
                result();
                break;
            case AROUND:
                around();
                break;
            default:
                operand();
        }
    }

    private void enter() {
        InsnList code = new InsnList();
        LabelNode on = new LabelNode();
        code.add(call("enter", Type.BOOLEAN_TYPE, loads(code, new ArrayList<>())));
        code.add(new JumpInsnNode(IFEQ, on));
        leave(code);
        code.add(on);
        entry(code, locals());
    }

    private void leave(InsnList code) {
        if (result.getSort() != Type.VOID) {
            Type taken = calls.typed() ? result : erased(result);
            code.add(calls.to("take", Type.getMethodDescriptor(taken)));
            cast(code, taken, result);
        }
        code.add(new InsnNode(result.getOpcode(IRETURN)));
    }

    private void argument() {
        check(point.index < arguments.length, "has no argument " + point.index);
        Type type = arguments[point.index];
        InsnList code = new InsnList();
        List<Type> types = new ArrayList<>();
        load(code, point.index, types);
        code.add(call("argument", erased(type), loads(code, types)));
        cast(code, erased(type), type);
        code.add(new VarInsnNode(type.getOpcode(ISTORE), slot(point.index)));
        entry(code, null);
    }

    private void result() {
        check(result.getSort() != Type.VOID, "returns nothing");
        for (AbstractInsnNode at : returns()) {
            InsnList code = new InsnList();
            List<Type> types = new ArrayList<>();
            types.add(erased(result));
            code.add(call("result", erased(result), loads(code, types)));
            cast(code, erased(result), result);
            method.instructions.insertBefore(at, code);
        }
        for (int passed : point.passed()) {
            check(!overwritten(passed == JoinPoint.THIS ? 0 : slot(passed)), "overwrites an argument that is passed");
        }
    }

    private void around() {
        int token = method.maxLocals++;
        for (AbstractInsnNode at : method.instructions.toArray()) {
            if (at instanceof FrameNode) {
                pad(((FrameNode) at).local, token);
            }
        }
        for (AbstractInsnNode at : returns()) {
            InsnList code = new InsnList();
            code.add(new VarInsnNode(ALOAD, token));
            code.add(new InsnNode(ACONST_NULL));
            code.add(calls.to("exit", Type.getMethodDescriptor(Type.VOID_TYPE, OBJECT, THROWABLE)));
            method.instructions.insertBefore(at, code);
        }
        LabelNode start = new LabelNode();
        LabelNode end = new LabelNode();
        LabelNode handler = new LabelNode();
        method.instructions.insert(start);
        method.instructions.add(end);
        method.instructions.add(handler);
        if (frames) {
            List<Object> nothing = new ArrayList<>();
            pad(nothing, token);
            method.instructions.add(frame(nothing, "java/lang/Throwable"));
        }
        method.instructions.add(new InsnNode(DUP));
        method.instructions.add(new VarInsnNode(ALOAD, token));
        method.instructions.add(new InsnNode(SWAP));
        method.instructions.add(calls.to("exit", Type.getMethodDescriptor(Type.VOID_TYPE, OBJECT, THROWABLE)));
        method.instructions.add(new InsnNode(ATHROW));
        if (method.tryCatchBlocks == null) {
            method.tryCatchBlocks = new ArrayList<>();
        }
        method.tryCatchBlocks.add(new TryCatchBlockNode(start, end, handler, null));

        InsnList code = new InsnList();
        code.add(call("around", OBJECT, loads(code, new ArrayList<>())));
        List<Object> locals = null;
        if (result.getSort() == Type.VOID) {
            LabelNode on = new LabelNode();
            code.add(new InsnNode(DUP));
            code.add(new VarInsnNode(ASTORE, token));
            code.add(new TypeInsnNode(INSTANCEOF, CUT));
            code.add(new JumpInsnNode(IFEQ, on));
            code.add(new InsnNode(RETURN));
            code.add(on);
            locals = locals();
            pad(locals, token);
        } else {
            code.add(new VarInsnNode(ASTORE, token));
        }
        entry(code, locals);
    }

    private void operand() {
        int found = 0;
        for (AbstractInsnNode at : method.instructions.toArray()) {
            if (!(at instanceof MethodInsnNode)) {
                continue;
            }
            MethodInsnNode call = (MethodInsnNode) at;
            if (!point.call.equals(call.name + call.desc)) {
                continue;
            }
            found++;
            Type[] operands = Type.getArgumentTypes(call.desc);
            Type type = point.index < operands.length ? operands[operands.length - 1 - point.index]
                    : Type.getObjectType(call.owner);
            InsnList code = new InsnList();
            swap(code);
            code.add(calls.to("operand", Type.getMethodDescriptor(OBJECT, OBJECT)));
            cast(code, OBJECT, type);
            swap(code);
            method.instructions.insertBefore(at, code);
        }
        check(found > 0, "does not call " + point.call);
    }

    private void swap(InsnList code) {
        if (point.index == 1) {
            code.add(new InsnNode(SWAP));
        }
    }

    /** Puts code before all others; {@code locals} are those of the frame at its end, if it ends in a jump's target. */
    private void entry(InsnList code, List<Object> locals) {
        int bytes = Arrays.stream(code.toArray()).mapToInt(Weave::size).sum();
        check(bytes <= ENTRY_LIMIT, "would take " + bytes + " bytes at its entry, of " + ENTRY_LIMIT);
        if (frames && locals != null) {
            code.add(frame(locals));
            AbstractInsnNode first = method.instructions.getFirst();
            while (first != null && first.getOpcode() < 0 && !(first instanceof FrameNode)) {
                first = first.getNext();
            }
            if (first instanceof FrameNode) { // two frames cannot share an offset
                code.add(new InsnNode(NOP));
            }
        }
        method.instructions.insert(code);
    }

    /** Bytes of an instruction of an entry. */
    static int size(AbstractInsnNode node) {
        if (node.getOpcode() < 0) {
            return 0;
        }
        switch (node.getOpcode()) {
            case INVOKEDYNAMIC:
                return 5;
            case INVOKESTATIC:
            case IFEQ:
            case CHECKCAST:
            case INSTANCEOF:
                return 3;
            default:
                if (node instanceof VarInsnNode) {
                    int variable = ((VarInsnNode) node).var;
                    return variable < 4 ? 1 : variable < 256 ? 2 : 4;
                }
                return 1;
        }
    }

    private AbstractInsnNode call(String role, Type type, List<Type> types) {
        return calls.to(role, Type.getMethodDescriptor(type, types.toArray(new Type[0])));
    }

    private List<Type> loads(InsnList code, List<Type> types) {
        for (int passed : point.passed()) {
            if (passed == JoinPoint.THIS) {
                code.add(new VarInsnNode(ALOAD, 0));
                types.add(OBJECT);
            } else {
                load(code, passed, types);
            }
        }
        return types;
    }

    private void load(InsnList code, int argument, List<Type> types) {
        code.add(new VarInsnNode(arguments[argument].getOpcode(ILOAD), slot(argument)));
        types.add(erased(arguments[argument]));
    }

    private int slot(int argument) {
        int slot = isStatic ? 0 : 1;
        for (int i = 0; i < argument; i++) {
            slot += arguments[i].getSize();
        }
        return slot;
    }

    private boolean overwritten(int slot) {
        for (AbstractInsnNode at : method.instructions.toArray()) {
            if (at.getOpcode() >= ISTORE && at.getOpcode() <= ASTORE && ((VarInsnNode) at).var == slot) {
                return true;
            }
        }
        return false;
    }

    private List<AbstractInsnNode> returns() {
        List<AbstractInsnNode> returns = new ArrayList<>();
        for (AbstractInsnNode at : method.instructions.toArray()) {
            if (at.getOpcode() >= IRETURN && at.getOpcode() <= RETURN) {
                returns.add(at);
            }
        }
        return returns;
    }

    /** Reference types are erased: linking a site then loads no class that the method might never have needed. */
    private static Type erased(Type type) {
        return type.getSort() < Type.ARRAY ? type : OBJECT;
    }

    private static void cast(InsnList code, Type from, Type to) {
        if (!from.equals(to)) {
            code.add(new TypeInsnNode(CHECKCAST, to.getInternalName()));
        }
    }

    private static FrameNode frame(List<Object> locals, Object... stack) {
        return new FrameNode(F_NEW, locals.size(), locals.toArray(), stack.length, stack);
    }

    /** Locals at the method's entry, as a frame has them. */
    private List<Object> locals() {
        List<Object> locals = new ArrayList<>();
        if (!isStatic) {
            locals.add(owner);
        }
        for (Type argument : arguments) {
            switch (argument.getSort()) {
                case Type.LONG:
                    locals.add(LONG);
                    break;
                case Type.DOUBLE:
                    locals.add(DOUBLE);
                    break;
                case Type.FLOAT:
                    locals.add(FLOAT);
                    break;
                case Type.ARRAY:
                case Type.OBJECT:
                    locals.add(argument.getInternalName());
                    break;
                default:
                    locals.add(INTEGER);
            }
        }
        return locals;
    }

    /** Appends unset locals up to {@code token}, and the token. */
    private static void pad(List<Object> locals, int token) {
        int slots = 0;
        for (Object local : locals) {
            slots += local == LONG || local == DOUBLE ? 2 : 1;
        }
        for (; slots < token; slots++) {
            locals.add(TOP);
        }
        locals.add("java/lang/Object");
    }

    private void check(boolean holds, String problem) {
        if (!holds) {
            throw new IllegalArgumentException(owner.replace('/', '.') + '.' + method.name + method.desc + ' ' + problem);
        }
    }
}
