package weir.probe.plugin.kafka;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.Deserializer;
import weir.probe.api.Log;

/** What a consumer is made of, kept by its client.id until its first poll or its end; it may hold passwords. */
public final class Made {
    /** Consumers whose first poll is awaited, the last ones made: one whose constructor fails is never polled. */
    private static final int LIMIT = 1024;
    private static final String ASSIGNORS =
            "org\\.apache\\.kafka\\.clients\\.consumer\\.(Range|RoundRobin|Sticky|CooperativeSticky)Assignor";

    private static final Map<String, Made> WAITING = new LinkedHashMap<String, Made>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Made> eldest) {
            return size() > LIMIT;
        }
    };

    /** Null if no second consumer can be made of them. */
    final Map<String, Object> settings;
    final Deserializer<?> key;
    final Deserializer<?> value;
    /** Consumers of this client.id that have not taken it. */
    private int waiting;

    private Made(Map<String, Object> settings, Deserializer<?> key, Deserializer<?> value) {
        this.settings = settings;
        this.key = key;
        this.value = value;
    }

    /** Handler for all threads: keeps what a new consumer is made of. */
    public static Object see(ConsumerConfig config, Deserializer<?> key, Deserializer<?> value) {
        if (Turns.isInside()) {
            return config;
        }
        String id = config.getString(ConsumerConfig.CLIENT_ID_CONFIG);
        if (id.isEmpty()) { // before 2.5, clients derive it later
            Log.sometimes("kafka client.id", "kafka: consumers without a client.id read no shadow topics");
            return config;
        }
        Map<String, Object> settings = config.originals();
        Made made = isPlain(config, settings) ? new Made(settings, key, value) : new Made(null, null, null);
        if (made.settings == null) {
            Log.sometimes("kafka assignor", "kafka: the consumer " + id + " has an assignor or internal settings of its own, as those of"
                    + " Kafka Streams: it reads no shadow topics");
        }
        synchronized (WAITING) {
            Made other = WAITING.get(id);
            if (other != null && !other.isLike(made)) { // which of the two a consumer is cannot be told
                made = new Made(null, null, null);
                Log.line("kafka: consumers of different settings share the client.id " + id + ": none reads shadow topics");
            }
            made.waiting = other == null ? 1 : other.waiting + 1;
            WAITING.put(id, made);
        }
        return config;
    }

    /** The client.id of a consumer, or null. */
    static String id(KafkaConsumer<?, ?> consumer) {
        try {
            for (MetricName metric : consumer.metrics().keySet()) {
                String id = metric.tags().get("client-id");
                if (id != null) {
                    return id;
                }
            }
        } catch (NullPointerException e) {
            // closed by its own constructor, which has failed
        }
        return null;
    }

    /** What one consumer of this client.id is made of, or null if it can have no shadow consumer. */
    static Made take(String id) {
        synchronized (WAITING) {
            Made made = WAITING.get(id);
            if (made != null && --made.waiting == 0) {
                WAITING.remove(id);
            }
            return made == null || made.settings == null ? null : made;
        }
    }

    /** Objects among the settings, and assignors that find them there, belong to one consumer alone. */
    private static boolean isPlain(ConsumerConfig config, Map<String, Object> settings) {
        List<?> assignors = config.getList(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG);
        return settings.keySet().stream().noneMatch(name -> name.startsWith("__")) && assignors.stream().allMatch(
                assignor -> (assignor instanceof Class ? ((Class<?>) assignor).getName() : assignor.toString().trim()).matches(ASSIGNORS));
    }

    private boolean isLike(Made other) {
        return Objects.equals(settings, other.settings) && type(key) == type(other.key) && type(value) == type(other.value);
    }

    private static Class<?> type(Deserializer<?> given) {
        return given == null ? null : given.getClass();
    }
}
