package weir.probe.plugin.kafka;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import weir.probe.api.Settings;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** What marked threads send. */
public final class Records {
    private static final String HEADER = "baggage";

    private Records() {}

    /** Handler: the record for the shadow topic, with the mark for other readers of it. */
    public static ProducerRecord<?, ?> shadow(ProducerRecord<?, ?> record) {
        String prefix = prefix();
        if (prefix.isEmpty()) {
            throw new ShadowRefused("kafka: shadow.kafka.prefix is not configured");
        }
        Headers headers = new RecordHeaders(record.headers());
        headers.add(HEADER, ("weir.shadow=" + Mark.current().value()).getBytes(StandardCharsets.UTF_8));
        String topic = record.topic().startsWith(prefix) ? record.topic() : prefix + record.topic();
        return new ProducerRecord<>(topic, record.partition(), record.timestamp(), record.key(), record.value(), headers);
    }

    /** Handler: the offsets would be those of the business group. */
    public static boolean refuse() {
        throw new ShadowRefused("kafka: shadow traffic may not commit offsets in a transaction");
    }

    public static String check() {
        return prefix().matches("[\\w.\\-]+") ? null : "shadow.kafka.prefix has to be a beginning of a topic's name: `" + prefix() + '`';
    }

    /** Ends the shadow consumers that are idle; those of a batch under way end with their next poll. */
    public static void close() {
        Turns.closeAll();
    }

    static String prefix() {
        return Settings.text("kafka", "prefix", "");
    }
}
