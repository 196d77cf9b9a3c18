package weir.probe.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BaggageTest {
    private static final String KEY = "weir.shadow";
    /** After this time work counts as hung. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '\'', value = {
        "weir.shadow=1                      | 1",
        "' \tweir.shadow \t= run%207 \t;p=1'| run%207",
        "a=1,weir.shadow=1,b=2;q            | 1",
        "=;;,\\,weir.shadow=1,,             | 1",
        "weir.shadow=1,weir.shadow=1        | 1",
        "weir.shadow=a=b                    | a=b",
        "''                                 | ",
        "a=1                                | ",
        "weir.shadows=1                     | ",
        "my-weir.shadow=1                   | ",
        "a=weir.shadow                      | ",
        "a=1;weir.shadow=1                  | ",
        "Weir.Shadow=1                      | ",
        "a weir.shadow=1                    | ",
        "weir.shadow x=1                    | ",
    })
    void one_member_is_read_whatever_its_neighbours_are(String header, String value) {
        assertEquals(value, Baggage.get(header, KEY));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '\'', value = {
        "weir.shadow                 | without a value",
        "weir.shadow;p=1             | without a value",
        "weir.shadow=                | empty",
        "weir.shadow= ;p             | empty",
        "weir.shadow=\"1\"           | characters",
        "weir.shadow=a b             | characters",
        "weir.shadow=\u00e9          | characters",
        "weir.shadow=1,weir.shadow=2 | twice",
    })
    void a_mark_that_cannot_be_read_is_said_to_be_so(String header, String problem) {
        String message = assertThrows(IllegalArgumentException.class, () -> Baggage.get(header, KEY)).getMessage();
        assertTrue(message.startsWith("the mark `weir.shadow` is ") && message.contains(problem), message);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '\'', value = {
        "''                     | weir.shadow=1",
        "a=1, b=2;p=%20 ;q      | weir.shadow=1,a=1, b=2;p=%20 ;q",
        "a=1,weir.shadow=0;p, b | weir.shadow=1,a=1, b",
        "' , ,weir.shadow ,=;'  | weir.shadow=1,=;",
        "weir.shadows=2         | weir.shadow=1,weir.shadows=2",
    })
    void the_members_that_are_there_are_kept(String header, String written) {
        assertEquals(written, Baggage.put(header, KEY, "1"));
    }

    @Test
    void long_baggage_is_refused_only_if_it_has_the_mark() {
        String longer = "a=" + repeat("x", 1 << 16);
        assertEquals(null, Baggage.get(longer, KEY));
        assertThrows(IllegalArgumentException.class, () -> Baggage.get(longer + ',' + KEY + "=1", KEY));
        assertThrows(IllegalArgumentException.class, () -> Baggage.get(KEY + '=' + repeat("x", 257), KEY));
        assertThrows(IllegalArgumentException.class, () -> Baggage.put(longer, KEY, "1"));
        assertThrows(IllegalArgumentException.class, () -> Baggage.put(repeat("a=1,", 64), KEY, "1"));
    }

    /** Quadratic work on 16 MiB would take many times the patience. */
    @Test
    void work_is_linear_in_what_is_sent() {
        for (String piece : new String[] {KEY, ' ' + KEY, "\t", ",", KEY + "=1,", KEY + " ", KEY + " x "}) {
            String header = repeat(piece, (1 << 24) / piece.length());
            assertTimeoutPreemptively(PATIENCE, () -> {
                try {
                    Baggage.get(header, KEY);
                    Baggage.put(header, KEY, "1");
                } catch (IllegalArgumentException tooLong) {
                    // as it should be
                }
            });
        }
    }

    @Test
    void what_is_written_is_read_back_and_neighbours_of_any_kind_survive() {
        Random random = new Random(7);
        String alphabet = "ab=;, \t\"\\%1" + KEY;
        for (int round = 0; round < 200_000; round++) {
            StringBuilder header = new StringBuilder();
            for (int i = random.nextInt(40); i > 0; i--) {
                header.append(random.nextInt(8) == 0 ? KEY : String.valueOf(alphabet.charAt(random.nextInt(alphabet.length()))));
            }
            String before = header.toString();
            String written = Baggage.put(before, KEY, "7");
            assertEquals("7", Baggage.get(written, KEY), before);
            assertEquals(written, Baggage.put(written, KEY, "7"), before);
            try {
                Baggage.get(before, KEY);
            } catch (IllegalArgumentException unreadable) {
                // the only exception there is
            }
        }
    }

    static String repeat(String piece, int times) {
        return new String(new char[times]).replace("\0", piece);
    }
}
