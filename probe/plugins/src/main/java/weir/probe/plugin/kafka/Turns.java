package weir.probe.plugin.kafka;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Deserializer;
import weir.probe.api.Log;
import weir.probe.boot.Cut;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** Turns of business and shadow consumer in one polling loop. */
public final class Turns {
    /** Consumers whose configuration is kept, the last ones made. */
    private static final int LIMIT = 1024;
    /** Records in a shadow batch: a business record waits for no more than these. */
    private static final int BATCH = 50;

    private static final Map<String, Made> MADE = new LinkedHashMap<String, Made>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Made> eldest) {
            return size() > LIMIT;
        }
    };
    private static final Map<KafkaConsumer<?, ?>, Turns> ALL = Collections.synchronizedMap(new WeakHashMap<>());
    /** Set while this class makes or polls a shadow consumer, which is woven too. */
    private static final ThreadLocal<Boolean> INSIDE = new ThreadLocal<>();

    private static final class Made {
        final Map<String, Object> settings;
        final Deserializer<?> key;
        final Deserializer<?> value;

        Made(Map<String, Object> settings, Deserializer<?> key, Deserializer<?> value) {
            this.settings = settings;
            this.key = key;
            this.value = value;
        }

        boolean isLike(Made other) {
            return settings.equals(other.settings) && type(key) == type(other.key) && type(value) == type(other.value);
        }

        private static Class<?> type(Deserializer<?> given) {
            return given == null ? null : given.getClass();
        }
    }

    private final Made made;
    private KafkaConsumer<Object, Object> shadow;
    private Set<String> topics = Collections.emptySet();
    /** The batch that is being worked on, and where its mark is open. */
    private Mark batch;
    private Mark.Scope mark;

    private Turns(Made made) {
        this.made = made;
    }

    /** Handler for all threads: keeps the configuration by the client's id. */
    public static Object see(ConsumerConfig config, Deserializer<?> key, Deserializer<?> value) {
        if (INSIDE.get() == null) {
            synchronized (MADE) {
                String id = config.getString(ConsumerConfig.CLIENT_ID_CONFIG);
                Made made = new Made(config.originals(), key, value);
                Made other = MADE.put(id, made);
                if (other != null && !other.isLike(made)) { // which of the two a consumer is cannot be told
                    MADE.put(id, null);
                    Log.line("kafka: consumers of different settings share the client.id " + id + ": none reads shadow topics");
                }
            }
        }
        return config;
    }

    /** Handler for all threads: ends the shadow batch that this loop had, and begins another if there is one. */
    public static boolean poll(KafkaConsumer<?, ?> consumer) {
        if (INSIDE.get() != null) {
            return false;
        }
        Turns turns = ALL.get(consumer);
        boolean served = turns != null && turns.unmark();
        if (isBatch(Mark.current())) {
            // This thread polls several consumers. Another one's batch may be worked on yet, so this poll brings nothing.
            return Cut.with(ConsumerRecords.empty());
        }
        if (Mark.marked()) {
            throw new ShadowRefused("kafka: shadow traffic may not read business records");
        }
        if (turns == null) {
            if (!Mark.accepting() || Records.prefix().isEmpty()) {
                return false;
            }
            turns = new Turns(made(consumer));
            ALL.put(consumer, turns);
        }
        return turns.made != null && turns.next(consumer, served);
    }

    /** Handler for all threads: ends the shadow batch of this loop, and its shadow consumer. */
    public static boolean close(KafkaConsumer<?, ?> consumer) {
        Turns turns = INSIDE.get() == null ? ALL.remove(consumer) : null;
        if (turns != null) {
            turns.unmark();
            turns.end();
        }
        return false;
    }

    /** Handler for marked threads. */
    public static boolean commitSync(KafkaConsumer<?, ?> consumer) {
        return commit(consumer, true);
    }

    /** Handler for marked threads; a callback that was given is not called. */
    public static boolean commitAsync(KafkaConsumer<?, ?> consumer) {
        return commit(consumer, false);
    }

    private static boolean commit(KafkaConsumer<?, ?> consumer, boolean wait) {
        if (INSIDE.get() != null) {
            return false;
        }
        Turns turns = ALL.get(consumer);
        if (turns == null || turns.shadow == null || turns.mark == null) {
            throw new ShadowRefused("kafka: shadow traffic may not commit for a business group");
        }
        inside(() -> {
            if (wait) {
                turns.shadow.commitSync();
            } else {
                turns.shadow.commitAsync();
            }
        });
        return Cut.with(null);
    }

    /** @param served whether the last poll brought shadow records */
    private boolean next(KafkaConsumer<?, ?> consumer, boolean served) {
        if (!Mark.accepting() || Records.prefix().isEmpty()) {
            end();
            return false;
        }
        if (served) {
            return false; // business has its turn after each shadow batch
        }
        List<ConsumerRecords<Object, Object>> polled = new ArrayList<>(1);
        try {
            Set<String> business = consumer.subscription();
            inside(() -> {
                subscribe(business);
                if (!topics.isEmpty()) {
                    polled.add(shadow.poll(Duration.ZERO));
                }
            });
            if (polled.isEmpty() || polled.get(0).isEmpty()) {
                return false;
            }
            Mark next = new Mark("1");
            mark = Mark.open(next);
            batch = next;
            Mark.capture(); // tasks of others may follow on this thread while the mark is open
            return Cut.with(polled.get(0));
        } catch (ShadowRefused e) { // disarmed since: the records come again when armed
            end();
            return false;
        }
    }

    private void subscribe(Set<String> business) {
        Set<String> wanted = new HashSet<>();
        business.forEach(topic -> wanted.add(Records.prefix() + topic));
        if (wanted.equals(topics)) {
            return;
        }
        if (shadow == null) {
            Map<String, Object> settings = new HashMap<>(made.settings);
            settings.put(ConsumerConfig.GROUP_ID_CONFIG, Records.prefix() + settings.get(ConsumerConfig.GROUP_ID_CONFIG));
            settings.put(ConsumerConfig.CLIENT_ID_CONFIG, Records.prefix() + settings.getOrDefault(ConsumerConfig.CLIENT_ID_CONFIG, "consumer"));
            settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, BATCH);
            settings.remove("group.instance.id");
            shadow = new KafkaConsumer<>(settings, deserializer(made.key), deserializer(made.value));
            Log.line("kafka: shadow consumer of " + wanted + " in the group " + settings.get(ConsumerConfig.GROUP_ID_CONFIG));
        }
        shadow.subscribe(wanted);
        topics = wanted;
    }

    /** Ends the batch, on this thread or on that which has polled it; false if there is none. */
    private boolean unmark() {
        if (mark == null) {
            return false;
        }
        mark.revoke();
        mark = null;
        batch = null;
        return true;
    }

    private static boolean isBatch(Mark mark) {
        if (mark == null) {
            return false;
        }
        synchronized (ALL) {
            return ALL.values().stream().anyMatch(turns -> turns.batch == mark);
        }
    }

    private void end() {
        if (shadow != null) {
            KafkaConsumer<?, ?> old = shadow;
            shadow = null;
            topics = Collections.emptySet();
            inside(() -> old.close(Duration.ZERO));
        }
    }

    static void closeAll() {
        List<Turns> all;
        synchronized (ALL) {
            all = new ArrayList<>(ALL.values());
        }
        for (Turns turns : all) {
            KafkaConsumer<?, ?> shadow = turns.shadow;
            if (shadow != null) {
                try {
                    inside(() -> shadow.close(Duration.ZERO));
                } catch (java.util.ConcurrentModificationException polling) {
                    Log.line("kafka: a shadow consumer is being polled and stays open");
                }
            }
        }
    }

    /** Runs without the mark: client threads start here. */
    private static void inside(Runnable work) {
        INSIDE.set(true);
        try (Mark.Scope hidden = Mark.open(null)) {
            work.run();
        } finally {
            INSIDE.remove();
        }
    }

    private static Made made(KafkaConsumer<?, ?> consumer) {
        for (MetricName metric : consumer.metrics().keySet()) {
            String id = metric.tags().get("client-id");
            if (id != null) {
                synchronized (MADE) {
                    return MADE.get(id);
                }
            }
        }
        return null;
    }

    /** A deserializer that was given as an object is used by both consumers, in one thread; the business consumer closes it. */
    private static Deserializer<Object> deserializer(Deserializer<?> given) {
        return given == null ? null : new Deserializer<Object>() {
            @Override
            public Object deserialize(String topic, byte[] data) {
                return given.deserialize(topic, data);
            }

            @Override
            public Object deserialize(String topic, Headers headers, byte[] data) {
                return given.deserialize(topic, headers, data);
            }
        };
    }
}
