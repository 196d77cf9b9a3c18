package weir.probe.api;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ValuesTest {
    static class Base {
        private long id;
    }

    static class Stock extends Base {
        private String name;
        private List<Stock> parts;
    }

    interface Methods {
        List<Stock> stocks();

        Map<String, Integer> counts();

        Set<Long> ids();
    }

    @Test
    void json_becomes_what_the_method_returns() throws Exception {
        Object[][] cases = {
            {7, int.class, 7}, {7, long.class, 7L}, {7, Long.class, 7L}, {7, double.class, 7d}, {7, short.class, (short) 7},
            {1.5, float.class, 1.5f}, {1.5, BigDecimal.class, new BigDecimal("1.5")}, {true, boolean.class, true},
            {"a", char.class, 'a'}, {"a", String.class, "a"}, {"a", Object.class, "a"}, {"DAYS", TimeUnit.class, TimeUnit.DAYS},
            {null, String.class, null}, {"ignored", void.class, null},
            {Arrays.asList(1, 2), type("ids"), new LinkedHashSet<>(Arrays.asList(1L, 2L))},
            {Collections.singletonMap("a", 1), type("counts"), Collections.singletonMap("a", 1)},
        };
        for (Object[] one : cases) {
            assertEquals(one[2], Values.make(one[0], (Type) one[1]), Arrays.toString(one));
        }
        assertArrayEquals(new int[] {1, 2}, (int[]) Values.make(Arrays.asList(1, 2), int[].class));
    }

    @Test
    void objects_are_made_field_by_field_into_lists_and_superclasses() throws Exception {
        Map<String, Object> part = Collections.singletonMap("name", "wheel");
        Map<String, Object> json = new java.util.HashMap<>();
        json.put("id", 5);
        json.put("parts", Collections.singletonList(part));
        List<?> made = (List<?>) Values.make(Collections.singletonList(json), type("stocks"));
        Stock stock = (Stock) made.get(0);
        assertEquals(5L, ((Base) stock).id);
        assertNull(stock.name);
        assertEquals("wheel", stock.parts.get(0).name);
    }

    @Test
    void json_that_does_not_fit_is_an_error_that_names_both() {
        Object[][] cases = {
            {null, int.class, "null is no int"}, {"a", int.class, "a JSON String is no int"}, {"ab", char.class, "a JSON String is no char"},
            {1, String.class, "a JSON Integer is no java.lang.String"},
            {Collections.singletonMap("weight", 1), Stock.class, Stock.class.getName() + " has no field weight"},
        };
        for (Object[] one : cases) {
            Exception e = assertThrows(IllegalArgumentException.class, () -> Values.make(one[0], (Type) one[1]), Arrays.toString(one));
            assertEquals(one[2], e.getMessage());
        }
    }

    private static Type type(String method) throws NoSuchMethodException {
        return Methods.class.getDeclaredMethod(method).getGenericReturnType();
    }
}
