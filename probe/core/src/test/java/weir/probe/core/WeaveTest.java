package weir.probe.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static weir.probe.api.JoinPoint.THIS;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.tree.ClassNode;
import weir.probe.api.JoinPoint;
import weir.probe.api.Log;
import weir.probe.api.Plugin;
import weir.probe.boot.Clock;
import weir.probe.boot.Mark;
import weir.probe.boot.Point;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

/** Each kind of join point, by {@code invokedynamic} in the class and, for class files before 51, by a helper. */
class WeaveTest {
    private static final String SUBJECT = "weir.probe.core.Subject";
    private static final Source SOURCE = path -> Source.all(ClassLoader.getSystemResourceAsStream(path));
    private static final List<JoinPoint> ENTRIES = Arrays.asList(
            JoinPoint.enter("int", SUBJECT + "#whole(I)I", "Demo.cutInt").passing(THIS, 0),
            JoinPoint.enter("long", SUBJECT + "#wide(J)J", "Demo.cutLong").passing(0),
            JoinPoint.enter("double", SUBJECT + "#real(D)D", "Demo.cutDouble").passing(0),
            JoinPoint.enter("text", SUBJECT + "#text(Ljava/lang/String;)*", "Demo.cutText").passing(THIS, 0),
            JoinPoint.enter("void", SUBJECT + "#run()V", "Demo.cutVoid").passing(THIS),
            JoinPoint.argument("given", SUBJECT + "#given", 0, "Demo.argument"),
            JoinPoint.enter("broken", SUBJECT + "#broken()*", "Demo.fail").passing(THIS));
    private static final List<JoinPoint> OTHERS = Arrays.asList(
            JoinPoint.result("returned", SUBJECT + "#returned", "Demo.result").passing(THIS),
            JoinPoint.operand("called", SUBJECT + "#called", "concat(Ljava/lang/String;)Ljava/lang/String;", 1, "Demo.operand"));
    private static final JoinPoint EDGE = JoinPoint.around("edge", SUBJECT + "#edge", "Demo$Edge").passing(THIS, 0);

    private final ByteArrayOutputStream log = new ByteArrayOutputStream();
    private Probe probe;
    private byte[] woven;

    /** A plugin of the role with these join points. */
    private Loaded plugin(Plugin.Role role, List<JoinPoint> points, String... expects) {
        return new Loaded(new Plugin() {
            @Override
            public String name() {
                return "demo";
            }

            @Override
            public String library() {
                return "subject 1";
            }

            @Override
            public Role role() {
                return role;
            }

            @Override
            public List<JoinPoint> joinPoints() {
                return points;
            }

            @Override
            public List<String> expects() {
                return Arrays.asList(expects);
            }
        }, SOURCE);
    }

    private Object start(int version, Loaded... plugins) throws Exception {
        Log.to(new PrintStream(log));
        probe = new Probe(Config.read("", Collections.emptyMap()), Arrays.asList(plugins), Collections.emptyList());
        Probes.attach(probe, () -> { });
        byte[] bytes = SOURCE.read("weir/probe/core/Subject.class");
        bytes[7] = (byte) version;
        ClassLoader loader = new ClassLoader(WeaveTest.class.getClassLoader()) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (!name.equals(SUBJECT)) {
                    return super.loadClass(name, resolve);
                }
                Class<?> known = findLoadedClass(name);
                if (known == null) {
                    woven = new Weaver(Arrays.asList(plugins), new Jvm(null)).transform(this, name.replace('.', '/'), null, null, bytes);
                    byte[] use = woven == null ? bytes : woven;
                    known = defineClass(name, use, 0, use.length);
                }
                return known;
            }
        };
        return loader.loadClass(SUBJECT).getConstructor().newInstance();
    }

    @AfterEach
    void detach() {
        Probes.detach();
        Log.to(System.err);
        assertEquals(0, Mark.live());
    }

    private static Object call(Object subject, String method, Object... arguments) throws Throwable {
        for (java.lang.reflect.Method candidate : subject.getClass().getMethods()) {
            if (candidate.getName().equals(method)) {
                try {
                    return candidate.invoke(subject, arguments);
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            }
        }
        throw new AssertionError(method);
    }

    private static List<Object> calls(Object subject) throws Throwable {
        ((List<?>) subject.getClass().getField("seen").get(subject)).clear();
        call(subject, "run");
        return Arrays.asList(call(subject, "whole", 4), call(subject, "wide", 4L), call(subject, "real", 4d),
                call(subject, "text", "a"), call(subject, "given", "a"), call(subject, "returned", "a"), call(subject, "called", "a"),
                new ArrayList<>((List<?>) subject.getClass().getField("seen").get(subject)).size());
    }

    @ParameterizedTest
    @ValueSource(ints = {49, 50, 52})
    void handlers_act_on_marked_calls_alone_and_only_when_armed(int version) throws Throwable {
        List<JoinPoint> points = new ArrayList<>(ENTRIES);
        points.addAll(OTHERS);
        Object subject = start(version, plugin(Plugin.Role.MIDDLEWARE, points));
        List<Object> business = Arrays.asList(6, 4L, 4d, "a", "a", "a", "a!", 3);
        List<Object> shadow = Arrays.asList(104, 104L, 104d, "a shadow", "a shadow", "a shadow", "a shadow!", 0);

        assertEquals(business, calls(subject), log.toString());
        probe.arm("test");
        assertEquals(business, calls(subject));
        try (Mark.Scope scope = Mark.open(new Mark("1"))) {
            assertEquals(shadow, calls(subject));
            assertNull(call(subject, "text", new Object[] {null}));
            probe.silence("test");
            assertThrows(ShadowRefused.class, () -> calls(subject));
        }
        probe.apply();
        assertEquals(business, calls(subject));
        assertEquals(Point.Mode.OFF, Probes.point("demo", "int", null).mode());
    }

    @ParameterizedTest
    @ValueSource(ints = {49, 50, 52})
    void an_edge_opens_the_mark_for_one_call_and_may_leave_it(int version) throws Throwable {
        Object subject = start(version, plugin(Plugin.Role.EDGE, Collections.singletonList(EDGE)));
        List<?> seen = (List<?>) subject.getClass().getField("seen").get(subject);
        probe.arm("test");
        call(subject, "edge", "plain");
        call(subject, "edge", "marked");
        call(subject, "edge", "refuse");
        assertEquals(Arrays.asList("unmarked", "5", "marked", "6"), seen);
        assertEquals("mark throw", assertThrows(IllegalArgumentException.class, () -> call(subject, "edge", "mark throw")).getMessage());
        assertFalse(Mark.marked(), "a mark outlives a call that throws, and an exit that throws");
        probe.disarm("test");
        seen.clear();
        // Mark.open refuses; a handler that does not answer that itself leaves it to the caller.
        assertThrows(ShadowRefused.class, () -> call(subject, "edge", "marked"));
        assertEquals(Collections.emptyList(), seen);
    }

    @Test
    void an_entry_takes_at_most_20_bytes() throws Throwable {
        byte[] plain = SOURCE.read("weir/probe/core/Subject.class");
        Map<String, Integer> before = codeSizes(plain);
        for (int version : new int[] {50, 52}) {
            start(version, plugin(Plugin.Role.MIDDLEWARE, ENTRIES));
            Map<String, Integer> after = codeSizes(woven);
            for (String method : new String[] {"whole", "wide", "real", "text", "run", "given", "broken"}) {
                int bytes = after.get(method) - before.get(method);
                System.out.println(version + " " + method + ": " + bytes + " bytes");
                assertTrue(bytes > 0 && bytes <= 20, method + " grows by " + bytes);
            }
            start(version, plugin(Plugin.Role.EDGE, Collections.singletonList(EDGE)));
            int entry = codeSizes(woven).get("edge's last range");
            System.out.println(version + " edge: " + entry + " bytes");
            assertTrue(entry > 0 && entry <= 20, "edge enters in " + entry);
        }
    }

    @Test
    void the_shape_of_a_class_stays() throws Throwable {
        List<JoinPoint> points = new ArrayList<>(ENTRIES);
        points.addAll(OTHERS);
        points.add(EDGE);
        for (int version : new int[] {50, 52}) {
            start(version, plugin(Plugin.Role.MIDDLEWARE, points));
            assertEquals(shape(SOURCE.read("weir/probe/core/Subject.class")), shape(woven));
        }
    }

    private static List<String> shape(byte[] bytes) {
        ClassNode node = new ClassNode();
        new ClassReader(bytes).accept(node, 0);
        List<String> shape = new ArrayList<>(node.interfaces);
        shape.add(node.access + node.name + node.superName);
        node.fields.forEach(field -> shape.add(field.access + field.name + field.desc));
        node.methods.forEach(method -> shape.add(method.access + method.name + method.desc));
        return shape;
    }

    @Test
    void a_handler_that_throws_refuses_shadow_calls_and_its_plugin_goes_off_with_one_line() throws Throwable {
        Object subject = start(52, plugin(Plugin.Role.MIDDLEWARE, ENTRIES));
        probe.arm("test");
        Mark.Scope scope = Mark.open(new Mark("1"));
        for (int i = 0; i < 8; i++) {
            assertThrows(ShadowRefused.class, () -> call(subject, "broken"));
        }
        scope.close();
        assertEquals("business", call(subject, "broken"));
        long deadline = System.nanoTime() + 5_000_000_000L;
        while (Mark.accepting() && System.nanoTime() < deadline) {
            Thread.sleep(5);
        }
        assertThrows(ShadowRefused.class, () -> Mark.open(new Mark("1")), "shadow traffic goes on without its isolation");
        assertEquals(1, Arrays.stream(log.toString().split("\n")).filter(line -> line.contains("plugin demo is off")).count(), log.toString());
        assertEquals("business", call(subject, "broken"));
    }

    @Test
    void a_handler_of_an_edge_that_throws_is_nothing_to_business_calls() throws Throwable {
        Object subject = start(52, plugin(Plugin.Role.EDGE, Arrays.asList(
                JoinPoint.enter("broken-edge", SUBJECT + "#broken()*", "Demo.fail").passing(THIS))));
        probe.arm("test");
        for (int i = 0; i < 20; i++) {
            assertEquals("business", call(subject, "broken"));
        }
        assertTrue(log.toString().contains("plugin demo is off: demo/broken-edge threw"), log.toString());
    }

    @Test
    void handlers_of_the_wrong_type_leave_calls_alone_and_their_plugin_goes_off() throws Throwable {
        Object subject = start(52, plugin(Plugin.Role.MIDDLEWARE, Arrays.asList(
                JoinPoint.enter("misfit", SUBJECT + "#text(Ljava/lang/String;)*", "Demo.cutLong").passing(THIS, 0),
                JoinPoint.around("misfit-edge", SUBJECT + "#edge", "Demo$Misfit").passing(THIS, 0))));
        probe.arm("test");
        for (int i = 0; i < 2; i++) {
            assertEquals("a", call(subject, "text", "a"));
            call(subject, "edge", "plain");
        }
        assertTrue(log.toString().contains("plugin demo is off: no handler for demo/misfit"), log.toString());
        assertFalse(probe.ready());
    }

    @ParameterizedTest
    @ValueSource(strings = {"missing.Type", "weir.probe.core.Subject.whole(J)I"})
    void a_plugin_that_expects_what_is_not_there_weaves_nothing_and_bars_arming(String expected) throws Throwable {
        Loaded plugin = plugin(Plugin.Role.MIDDLEWARE, ENTRIES, expected);
        Probes.accept(true);
        start(52, plugin);
        assertFalse(Mark.accepting(), "shadow traffic goes on until the next tick");
        assertNull(woven);
        assertEquals(Loaded.State.MISMATCH, plugin.state());
        assertEquals(expected + " is missing", plugin.reason());
        assertFalse(probe.arm("test").get(0).ok);
        assertSame(Probe.State.SILENT, probe.state());
    }

    @Test
    void a_point_that_does_not_fit_is_a_mismatch() throws Throwable {
        for (JoinPoint point : Arrays.asList(JoinPoint.enter("a", SUBJECT + "#absent", "Demo.fail"),
                JoinPoint.enter("b", SUBJECT + "#wide(J)J", "Demo.fail").passing(THIS),
                JoinPoint.enter("c", SUBJECT + "#<init>()V", "Demo.fail"),
                JoinPoint.enter("d", SUBJECT + "#text(Ljava/lang/String;)*", "Demo.fail").passing(THIS, 0, 0, 0, 0, 0, 0))) {
            Loaded plugin = plugin(Plugin.Role.MIDDLEWARE, Collections.singletonList(point));
            start(52, plugin);
            assertNull(woven, point.id);
            assertEquals(Loaded.State.MISMATCH, plugin.state());
        }
    }

    @Test
    void shadow_calls_are_counted_exactly_and_business_calls_of_one_thread_too() throws Throwable {
        Object subject = start(52, plugin(Plugin.Role.MIDDLEWARE, ENTRIES));
        probe.arm("test");
        Probes.reset();
        Clock.open();
        Point point = Probes.point("demo", "int", null);
        for (int i = 0; i < 2048; i++) {
            call(subject, "whole", 4);
        }
        try (Mark.Scope scope = Mark.open(new Mark("1"))) {
            for (int i = 0; i < 80; i++) {
                call(subject, "whole", 4);
            }
        }
        assertEquals(2048, point.business.calls());
        assertEquals(0, point.business.sampled());
        assertTrue(Clock.test() > 0 && Clock.test() < 1000, "a test of the mark takes " + Clock.test() + " ns");
        assertEquals(80, point.shadow.calls());
        assertEquals(5, point.shadow.sampled());
        assertTrue(point.shadow.quantile(0.5) <= point.shadow.quantile(0.99));
    }

    @Test
    void shadow_calls_of_an_edge_are_timed_where_all_calls_are_marked() throws Throwable {
        Object subject = start(52, plugin(Plugin.Role.EDGE, Collections.singletonList(EDGE)));
        probe.arm("test");
        Probes.reset();
        Clock.open();
        Point point = Probes.point("demo", "edge", null);
        for (int i = 0; i < 160; i++) {
            call(subject, "edge", "marked");
        }
        assertEquals(160, point.shadow.calls());
        assertEquals(0, point.business.calls());
        assertEquals(10, point.shadow.sampled());
    }

    @Test
    void an_edge_that_is_off_for_its_faults_sees_marks_and_refuses_them() throws Throwable {
        Object subject = start(52, plugin(Plugin.Role.EDGE, Arrays.asList(EDGE,
                JoinPoint.enter("broken-edge", SUBJECT + "#broken()*", "Demo.fail").passing(THIS))));
        probe.arm("test");
        for (int i = 0; i < 20; i++) {
            assertEquals("business", call(subject, "broken"));
        }
        long deadline = System.nanoTime() + 5_000_000_000L;
        while (Mark.accepting() && System.nanoTime() < deadline) {
            Thread.sleep(5);
        }
        call(subject, "edge", "plain");
        assertThrows(ShadowRefused.class, () -> call(subject, "edge", "marked"));
    }

    @Test
    void a_switch_during_a_check_holds_and_a_finding_disarms() throws Throwable {
        Loaded plugin = plugin(Plugin.Role.MIDDLEWARE, ENTRIES);
        Object subject = start(52, plugin);
        call(subject, "run");
        long disarmed = probe.disarm("test");
        probe.disarm("somebody else");
        assertTrue(probe.arm("test", disarmed).stream().anyMatch(check -> check.toString().startsWith("probe: it was switched")));
        assertSame(Probe.State.DISARMED, probe.state());
        probe.arm("test");
        assertSame(Probe.State.ARMED, probe.state());
        plugin.state(Loaded.State.SILENT, "test");
        assertFalse(probe.arm("test").get(0).ok);
        assertSame(Probe.State.DISARMED, probe.state());
    }

    /** Sizes of methods' code by their names, and for {@code edge} where its last exception range begins. */
    private static Map<String, Integer> codeSizes(byte[] bytes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        in.skipBytes(8);
        int count = in.readUnsignedShort();
        String[] utf = new String[count];
        for (int i = 1; i < count; i++) {
            int tag = in.readUnsignedByte();
            if (tag == 1) {
                utf[i] = in.readUTF();
            } else {
                in.skipBytes(tag == 15 ? 3 : tag == 7 || tag == 8 || tag == 16 || tag == 19 || tag == 20 ? 2 : tag == 5 || tag == 6 ? 8 : 4);
                i += tag == 5 || tag == 6 ? 1 : 0;
            }
        }
        in.skipBytes(6);
        in.skipBytes(2 * in.readUnsignedShort());
        Map<String, Integer> sizes = new HashMap<>();
        for (int member = 0; member < 2; member++) {
            for (int left = in.readUnsignedShort(); left > 0; left--) {
                in.skipBytes(2);
                String name = utf[in.readUnsignedShort()];
                in.skipBytes(2);
                for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
                    String attribute = utf[in.readUnsignedShort()];
                    byte[] content = new byte[in.readInt()];
                    in.readFully(content);
                    if (attribute.equals("Code")) {
                        DataInputStream code = new DataInputStream(new ByteArrayInputStream(content));
                        code.skipBytes(4);
                        int size = code.readInt();
                        sizes.put(name, size);
                        code.skipBytes(size);
                        for (int ranges = code.readUnsignedShort(); ranges > 0; ranges--) {
                            sizes.put(name + "'s last range", code.readUnsignedShort());
                            code.skipBytes(6);
                        }
                    }
                }
            }
        }
        return sizes;
    }
}
