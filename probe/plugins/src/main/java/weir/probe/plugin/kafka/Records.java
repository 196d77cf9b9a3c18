package weir.probe.plugin.kafka;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import weir.probe.api.Baggage;
import weir.probe.api.Settings;
import weir.probe.api.Wire;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** What marked threads send. */
public final class Records {
    private Records() {}

    /** Handler: the record for the shadow topic, with the mark for other readers of it. */
    public static ProducerRecord<?, ?> shadow(ProducerRecord<?, ?> record) {
        if (prefix().isEmpty()) {
            throw new ShadowRefused("kafka: shadow.kafka.prefix is not configured");
        }
        Headers headers = new RecordHeaders(record.headers());
        Header last = headers.lastHeader(Baggage.HEADER);
        String baggage = last == null || last.value() == null ? "" : new String(last.value(), StandardCharsets.UTF_8);
        headers.remove(Baggage.HEADER).add(Baggage.HEADER, Wire.write(baggage).getBytes(StandardCharsets.UTF_8));
        return new ProducerRecord<>(topic(record.topic()), record.partition(), record.timestamp(), record.key(), record.value(), headers);
    }

    /** Handler: what is called when the record has been sent, on the producer's thread. */
    public static Callback callback(Callback given) {
        if (given == null) {
            return null;
        }
        Held held = new Held();
        return (metadata, failure) -> {
            try (Mark.Scope scope = held.open()) {
                given.onCompletion(metadata, failure);
            }
        };
    }

    /** Handler: the offsets would be those of the business group. */
    public static boolean refuse() {
        throw new ShadowRefused("kafka: shadow traffic may not commit offsets in a transaction");
    }

    public static String check() {
        return prefix().isEmpty() ? "shadow.kafka.prefix is not configured" : prefix().matches("[\\w.\\-]+") ? Turns.finding()
                : "shadow.kafka.prefix has to be a beginning of a topic's name: `" + prefix() + '`';
    }

    /** Ends the shadow consumers. */
    public static void close() {
        Turns.closeAll();
    }

    /** The shadow topic of a topic; a shadow topic's is itself. */
    static String topic(String name) {
        return name.startsWith(prefix()) ? name : prefix() + name;
    }

    static boolean isShadow(String topic) {
        return !prefix().isEmpty() && topic.startsWith(prefix());
    }

    static String prefix() {
        return Settings.text("kafka", "prefix", "");
    }
}
