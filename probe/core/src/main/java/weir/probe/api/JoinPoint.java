package weir.probe.api;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import weir.probe.boot.Gate;

/**
 * A place in a library's code and the handler called there. A handler is a public static method of a public class in
 * the plugin's package, {@code Class.method}; it is given the values that {@link #passing} names.
 */
public final class JoinPoint {
    /** In {@link #passing}: the object whose method is called. */
    public static final int THIS = -1;

    /** Forms of join points, by the roles of their call sites. */
    public enum Kind {
        /** At entry: {@code boolean handler(passed...)}; true leaves the method, see {@code Cut}. */
        ENTER,
        /** At entry: {@code T handler(T, passed...)} replaces an argument. */
        ARGUMENT,
        /** At return: {@code T handler(T, passed...)} replaces the returned value. */
        RESULT,
        /**
         * The whole method: {@code Object enter(passed...)} of the handler class yields a token, {@code void exit(Object
         * token, Throwable)} takes it, only if it is not null. {@code Cut.NOW} as token leaves a void method.
         */
        AROUND,
        /** At a call in the method: {@code T handler(T)} replaces an operand of the call. */
        OPERAND
    }

    public final Kind kind;
    public final String id;
    /** Class, with dots. */
    public final String type;
    public final String method;
    /** Descriptor; {@code *} for all methods of that name, a descriptor that ends in {@code )*} for any result. */
    public final String descriptor;
    public final String handler;
    /** The argument that is replaced, or the operand counted from the top of the stack. */
    public final int index;
    /** Call whose operand is replaced, as {@code name(descriptor)}. */
    public final String call;
    private int[] passed = {};
    private Gate gate;
    private boolean lasting;
    private Object constant;
    private boolean optional;
    private boolean drops;
    private List<String> expected = Collections.emptyList();

    private JoinPoint(Kind kind, String id, String target, String handler, int index, String call) {
        int hash = target.indexOf('#');
        int end = target.indexOf('(', hash) < 0 ? target.length() : target.indexOf('(', hash);
        this.kind = kind;
        this.id = id;
        this.type = target.substring(0, hash);
        this.method = target.substring(hash + 1, end);
        this.descriptor = end == target.length() ? "*" : target.substring(end);
        this.handler = handler;
        this.index = index;
        this.call = call;
    }

    /** @param target {@code package.Class#method(descriptor)}, here and below */
    public static JoinPoint enter(String id, String target, String handler) {
        return new JoinPoint(Kind.ENTER, id, target, handler, 0, null);
    }

    public static JoinPoint argument(String id, String target, int index, String handler) {
        return new JoinPoint(Kind.ARGUMENT, id, target, handler, index, null);
    }

    public static JoinPoint result(String id, String target, String handler) {
        return new JoinPoint(Kind.RESULT, id, target, handler, 0, null);
    }

    /** @param handler class with {@code enter} and {@code exit} */
    public static JoinPoint around(String id, String target, String handler) {
        return new JoinPoint(Kind.AROUND, id, target, handler, 0, null);
    }

    public static JoinPoint operand(String id, String target, String call, int fromTop, String handler) {
        return new JoinPoint(Kind.OPERAND, id, target, handler, fromTop, call);
    }

    /** Arguments, counted from 0, and {@link #THIS}, to pass to the handler. */
    public JoinPoint passing(int... arguments) {
        passed = arguments;
        return this;
    }

    /** A gate other than the plugin's role implies. */
    public JoinPoint gate(Gate other) {
        gate = other;
        return this;
    }

    /** A value to pass to the handler before all others. */
    public JoinPoint constant(Object value) {
        constant = value;
        return this;
    }

    /** The method is not in all supported versions. */
    public JoinPoint optional() {
        optional = true;
        return this;
    }

    /** An entry of a void method: a marked call that has no isolation is left out, and not refused by an exception. */
    public JoinPoint dropping() {
        drops = true;
        return this;
    }

    public boolean drops() {
        return drops;
    }

    /** Members as in {@link Plugin#expects}, asked for only where this join point is: a plugin may know several libraries. */
    public JoinPoint expecting(String... members) {
        expected = Arrays.asList(members);
        return this;
    }

    public List<String> expected() {
        return expected;
    }

    public int[] passed() {
        return passed.clone();
    }

    /** On as long as there are marks, whatever the state: it ends what they have begun. */
    public JoinPoint lasting() {
        lasting = true;
        return this;
    }

    public boolean isLasting() {
        return lasting;
    }

    public Gate gateOr(Gate implied) {
        return gate == null ? implied : gate;
    }

    public Object constant() {
        return constant;
    }

    public boolean isOptional() {
        return optional;
    }

    /** Whether a method is this join point's. */
    public boolean matches(String name, String actual) {
        return method.equals(name) && (descriptor.equals("*") || descriptor.equals(actual)
                || descriptor.endsWith(")*") && actual.startsWith(descriptor.substring(0, descriptor.length() - 1)));
    }

    @Override
    public String toString() {
        return id + ' ' + type + '#' + method + descriptor + ' ' + Arrays.toString(passed);
    }
}
