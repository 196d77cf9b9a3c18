package weir.probe.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.grack.nanojson.JsonParser;
import java.util.Collections;
import org.junit.jupiter.api.Test;

class ShapeTest {
    @Test
    void all_keys_of_the_documentation_are_known() throws Exception {
        check("{'mark': {'baggage': 'x', 'accept': ['y']}, 'allow': ['a:1'], 'listen': [8080], 'threads_unmarked': ['a.'],"
                + " 'jdbc': [{'business': '*', 'tables': {'suffix': '_s'}}, {'business': 'b', 'shadow': {'url': 'u', 'user': 's', 'password': ''}}],"
                + " 'logback': {'suffix': '.s', 'file': 'f', 'max_mb': 10}, 'redis': {'prefix': 's:', 'server': 'redis://x'},"
                + " 'kafka': {'prefix': 's-'}, 'mock': [{'class': 'A', 'method': 'b', 'return': {'any': [1, null]}}], 'own': 7}");
    }

    @Test
    void what_is_wrong_is_told_with_its_place() {
        refused("{'marks': {}}", "shadow.marks: there is no such key, only allow, jdbc, jdkhttp, kafka, listen, logback, mark, mock, own, redis, sockets, threads_unmarked");
        refused("{'mark': {'bagage': 'x'}}", "shadow.mark.bagage: there is no such key, only accept, baggage");
        refused("{'allow': 'a:1'}", "shadow.allow is `a:1`: expected a list");
        refused("{'allow': [1]}", "shadow.allow[0] is `1`: expected a text");
        refused("{'mark': null}", "shadow.mark is `null`: expected an object");
        refused("{'jdbc': [{'business': '*'}, {'shadow': {'url': 5}}]}", "shadow.jdbc[1].shadow.url is something else: expected a text");
        refused("{'jdbc': {'shadow': {'password': 'secret'}}}", "shadow.jdbc is an object: expected a list");
        refused("{'jdbc': [{'shadow': {'password': 4711}}]}", "shadow.jdbc[0].shadow.password is something else: expected a text");
        refused("{'kafka': {'prefix': ''}}", "shadow.kafka.prefix is ``: expected letters, digits and -._~");
        refused("{'mark': {'baggage': ''}}", "shadow.mark.baggage is ``: expected letters, digits and -._~");
        refused("{'logback': {'suffix': ''}}", "shadow.logback.suffix is ``: expected a text that is not empty");
        refused("{'listen': [-1]}", "shadow.listen[0] is `-1`: expected a number from 0");
    }

    @Test
    void the_whole_document_is_looked_at() throws Exception {
        for (String wrong : new String[] {"{'bound': {}}", "{'bounds': {'cpu': 5}}", "{'port': '1'}", "{'shadow_traffic': 'no'}", "{'shadow': []}"}) {
            java.nio.file.Path file = java.nio.file.Files.createTempFile("probe", ".json");
            java.nio.file.Files.write(file, Collections.singleton(wrong.replace('\'', '"')));
            assertThrows(IllegalArgumentException.class, () -> Config.read("config=" + file, Collections.emptyMap()), wrong);
            java.nio.file.Files.delete(file);
        }
        assertEquals("agent argument `confg=x`: there is no such key, only config, app, state",
                assertThrows(IllegalArgumentException.class, () -> Config.read("confg=x", Collections.emptyMap())).getMessage());
    }

    @Test
    void urls_have_a_scheme() throws Exception {
        java.nio.file.Path file = java.nio.file.Files.createTempFile("probe", ".json");
        java.nio.file.Files.write(file, Collections.singleton("{\"control\": \"ftp://x\", \"otlp\": \"http://collector:4318\"}"));
        Config config = Config.read("config=" + file, Collections.emptyMap());
        java.nio.file.Files.delete(file);
        assertEquals("http://collector:4318", config.url("otlp", "NONE"));
        assertEquals("control is `ftp://x`: expected a URL that begins with http:// or https://",
                assertThrows(IllegalArgumentException.class, () -> config.url("control", "NONE")).getMessage());
    }

    private static void refused(String json, String why) {
        assertEquals(why, assertThrows(IllegalArgumentException.class, () -> check(json)).getMessage());
    }

    private static void check(String json) throws Exception {
        Shape.check(JsonParser.object().from(json.replace('\'', '"')), Collections.singleton("own"));
    }
}
