package weir.probe.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class CellsTest {
    private static final long SLEEP_MS = 60;

    @Test
    void a_handler_that_sleeps_costs_cpu_time_only_and_its_quantile_is_elapsed_time() throws Exception {
        Clock.open();
        Cells cells = new Cells();
        long elapsed = Clock.elapsed();
        long cpu = Clock.cpu();
        Thread.sleep(SLEEP_MS);
        cells.time(cpu);
        cells.time(elapsed);
        assertTrue(cells.mean() < SLEEP_MS * 1e6 / 3, cells.mean() + " ns of CPU");
        assertTrue(cells.quantile(0.99) >= SLEEP_MS * 900_000, cells.quantile(0.99) + " ns elapsed");
        assertEquals(1, cells.sampled());
    }
}
