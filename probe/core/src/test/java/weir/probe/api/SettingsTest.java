package weir.probe.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class SettingsTest {
    @Test
    void what_drivers_say_is_shown_without_passwords() {
        assertEquals("no driver for jdbc:postgresql://db/shop?user=a&password=...", Settings.withoutSecrets(
                "no driver for jdbc:postgresql://db/shop?user=a&password=4711"));
        assertEquals("redis://:...@cache:6379/1 is down", Settings.withoutSecrets("redis://:secret@cache:6379/1 is down"));
        assertEquals("mysql://shop:...@db/shop", Settings.withoutSecrets("mysql://shop:s:e:c@db/shop"));
        assertEquals("http://db:5432/shop is down", Settings.withoutSecrets("http://db:5432/shop is down"));
    }
}
