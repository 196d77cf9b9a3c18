package weir.probe.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MarkTest {
    @BeforeEach
    void accept() {
        Mark.accept(true);
    }

    @AfterEach
    void refuse() {
        Mark.accept(false);
    }

    @Test
    void a_thread_of_the_same_slot_neither_takes_nor_loses_a_mark_by_another() throws Exception {
        List<Boolean> seen = new ArrayList<>();
        try (Mark.Scope own = Mark.open(new Mark("1"))) {
            Thread other = sharing(() -> {
                seen.add(Mark.marked());
                Mark.Scope scope = Mark.open(new Mark("2"));
                seen.add(Mark.marked());
                scope.close();
                scope.close();
                seen.add(Mark.marked());
            });
            other.start();
            other.join();
            assertEquals(Arrays.asList(false, true, false), seen);
            assertTrue(Mark.marked(), "the other thread's close took this thread's mark");
        }
        assertFalse(Mark.marked());
    }

    @Test
    void scopes_in_scopes_end_in_their_order() {
        try (Mark.Scope outer = Mark.open(new Mark("1"))) {
            try (Mark.Scope hidden = Mark.open(null)) {
                assertFalse(Mark.marked());
                try (Mark.Scope inner = Mark.open(new Mark("2"))) {
                    assertEquals("2", Mark.current().value());
                }
                assertFalse(Mark.marked());
            }
            assertEquals("1", Mark.current().value());
            assertTrue(Mark.marked());
        }
        assertFalse(Mark.marked());
    }

    @Test
    void a_scope_is_revoked_from_another_thread_and_from_within_others() throws Exception {
        Mark.Scope batch = Mark.open(new Mark("1"));
        try (Mark.Scope hidden = Mark.open(null)) {
            batch.revoke();
            try (Mark.Scope inner = Mark.open(new Mark("2"))) {
                assertEquals("2", Mark.current().value());
            }
        }
        assertFalse(Mark.marked(), "what was revoked comes back with the end of the scope in it");
        Mark.Scope outer = Mark.open(new Mark("1"));
        Mark.Scope inner = Mark.open(new Mark("2"));
        Thread other = new Thread(inner::revoke);
        other.start();
        other.join();
        assertEquals("1", Mark.current().value());
        inner.close();
        inner.revoke();
        assertEquals("1", Mark.current().value());
        outer.close();
        assertFalse(Mark.marked());
        assertEquals(0, Mark.live());
    }

    /** A thread whose number has the same last ten bits as this one's. */
    private static Thread sharing(Runnable task) {
        Thread thread;
        do {
            thread = new Thread(task);
        } while ((Numbers.of(thread) - Numbers.current()) % 1024 != 0);
        return thread;
    }
}
