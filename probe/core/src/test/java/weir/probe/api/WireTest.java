package weir.probe.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

class WireTest {
    @Test
    void the_mark_is_read_under_the_configured_names_only() {
        Settings.replace(Collections.emptyMap());
        assertEquals("1", read("baggage", "weir.shadow=1"));
        assertEquals(null, read("baggage", "weir.shadow=0"));
        assertEquals(null, read("baggage", "weir.shadow=False"));
        assertEquals(null, read("p-pradar-cluster-test", "true"));
        Map<String, Object> mark = new HashMap<>();
        mark.put("baggage", "test");
        mark.put("accept", Arrays.asList("x-test", "p-pradar-cluster-test"));
        Settings.replace(Collections.singletonMap("mark", mark));
        assertEquals(null, read("baggage", "weir.shadow=1"));
        assertEquals("run-3", read("baggage", "test=run-3"));
        assertEquals("1", read("p-pradar-cluster-test", "true"));
        assertEquals(null, read("p-pradar-cluster-test", " FALSE"));
        assertThrows(IllegalArgumentException.class, () -> read("x-test", BaggageTest.repeat("1", 1 << 16)));
    }

    @Test
    void shadow_calls_leave_only_to_services_that_are_allowed() {
        Settings.replace(Collections.emptyMap());
        refused("stock", "stock");
        Settings.replace(Collections.singletonMap("allow", Arrays.asList("Stock:80", "pay", "shop.Orders")));
        Wire.leave("http", "stock", -1);
        Wire.leave("https", "pay", -1);
        Wire.leave("10.0.0.1:20880", "shop.Orders");
        refused("stock:443", "stock");
        refused("stock.evil:80", "stock.evil");
        assertEquals(null, Wire.check());
        Settings.replace(Collections.singletonMap("allow", "stock"));
        assertEquals("allow is not a list", Wire.check());
        refused("stock");
    }

    @Test
    void a_sender_cannot_fill_the_log() {
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        Log.to(new PrintStream(written, true));
        for (int i = 0; i < 1000; i++) {
            Log.sometimes("test", "a line\nwith a break");
        }
        Log.to(System.err);
        assertEquals("weir-probe: a line with a break", written.toString().trim());
    }

    private static void refused(String... names) {
        String message = assertThrows(ShadowRefused.class, () -> Wire.leave(names)).getMessage();
        assertTrue(message.contains(names[0]), message);
    }

    private static String read(String header, String value) {
        Mark mark = Wire.read(name -> name.equals(header) ? value : null);
        return mark == null ? null : mark.value();
    }
}
