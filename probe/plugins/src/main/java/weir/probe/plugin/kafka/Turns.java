package weir.probe.plugin.kafka;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Deserializer;
import weir.probe.api.Log;
import weir.probe.boot.Cut;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/** Turns of business and shadow consumer in one polling loop. */
public final class Turns {
    /** Records in a shadow batch: a business record waits for no more than these. */
    private static final int BATCH = 50;
    /** After so long without a poll a shadow consumer is closed: while the probe is silent, no end of a business consumer is seen. */
    private static final long IDLE_NS = 300_000_000_000L;
    /** How often a consumer that has no shadow consumer is asked for its topics. */
    private static final long LOOK_NS = 1_000_000_000L;

    private static final Map<KafkaConsumer<?, ?>, Turns> ALL = Collections.synchronizedMap(new WeakHashMap<>());
    /** Those with a shadow consumer, which has to be closed even when its business consumer is garbage. */
    private static final Set<Turns> OPEN = ConcurrentHashMap.newKeySet();
    /** Set while this class makes or uses a shadow consumer, which is woven too. */
    private static final ThreadLocal<Boolean> INSIDE = new ThreadLocal<>();

    private final WeakReference<KafkaConsumer<?, ?>> owner;
    private final String id;
    /** Null if there can be no shadow consumer, and from the end on, as there may be passwords in it. */
    private Made made;
    private KafkaConsumer<Object, Object> shadow;
    private Set<String> topics = Collections.emptySet();
    /** The batch that is being worked on, its records, where its mark is open, and the thread that has polled it. */
    private volatile Mark batch;
    private ConsumerRecords<Object, Object> records;
    private Mark.Scope mark;
    private volatile Thread thread;
    private volatile long polled = System.nanoTime();
    private long looked = polled - LOOK_NS;
    /** Shadow topics that the business consumer reads. */
    private volatile Set<String> foreign = Collections.emptySet();

    private Turns(KafkaConsumer<?, ?> consumer) {
        owner = new WeakReference<>(consumer);
        id = Made.id(consumer);
        made = Made.take(id);
    }

    /** The consumer's turns; null for a shadow consumer. */
    static Turns of(KafkaConsumer<?, ?> consumer) {
        return isInside() ? null : ALL.computeIfAbsent(consumer, Turns::new);
    }

    static boolean isInside() {
        return INSIDE.get() != null;
    }

    /** The mark of the shadow batch that is being worked on, or null. */
    Mark batch() {
        return batch;
    }

    /** Whether the shadow batch that is being worked on has the record of this offset, or the one before, as commits name the next. */
    boolean batchHas(TopicPartition partition, long offset) {
        return batch != null
                && records.records(partition).stream().anyMatch(record -> record.offset() == offset || record.offset() == offset - 1);
    }

    /** Whether the business consumer itself reads this shadow topic, and has a position there. */
    boolean isForeign(String topic) {
        return foreign.contains(topic);
    }

    /** Handler for all threads: ends the shadow batch that this loop had, and begins another if there is one. */
    public static boolean poll(KafkaConsumer<?, ?> consumer) {
        Turns turns = of(consumer);
        if (turns == null) {
            return false;
        }
        turns.polled = System.nanoTime();
        OPEN.forEach(Turns::sweep);
        boolean served = turns.unmark();
        if (isBatch(Mark.current())) {
            // This thread polls several consumers. Another one's batch may be worked on yet, so this poll brings nothing.
            return Cut.with(ConsumerRecords.empty());
        }
        if (Mark.marked()) {
            throw new ShadowRefused("kafka: shadow traffic may not read business records");
        }
        return turns.next(consumer, served);
    }

    /** Handler for all threads, as a poll returns: leaves out records of shadow topics, which only a shadow batch brings. */
    public static ConsumerRecords<?, ?> business(ConsumerRecords<?, ?> polled, KafkaConsumer<?, ?> consumer) {
        Turns turns = of(consumer);
        if (turns == null || turns.batch != null) {
            return polled;
        }
        Set<String> found = polled.partitions().stream().map(TopicPartition::topic).filter(Records::isShadow)
                .collect(Collectors.toCollection(TreeSet::new));
        if (found.isEmpty()) {
            return polled;
        }
        turns.found(found);
        return withoutShadow(polled);
    }

    private static <K, V> ConsumerRecords<K, V> withoutShadow(ConsumerRecords<K, V> polled) {
        Map<TopicPartition, List<ConsumerRecord<K, V>>> business = new LinkedHashMap<>();
        for (TopicPartition partition : polled.partitions()) {
            if (!Records.isShadow(partition.topic())) {
                business.put(partition, polled.records(partition));
            }
        }
        return new ConsumerRecords<>(business);
    }

    /** Handler for all threads: ends the shadow batch of this loop, and its shadow consumer. */
    public static boolean close(KafkaConsumer<?, ?> consumer) {
        Turns turns = of(consumer);
        if (turns != null) {
            synchronized (turns) {
                turns.foreign = Collections.emptySet();
                turns.made = null;
                turns.unmark();
                turns.end();
            }
        }
        return false;
    }

    /** Commits with the shadow consumer; returns what failed, or null. */
    synchronized RuntimeException commit(Consumer<KafkaConsumer<Object, Object>> work) {
        try {
            if (shadow == null) {
                throw new IllegalStateException("their shadow consumer is closed");
            }
            inside(() -> work.accept(shadow));
            return null;
        } catch (RuntimeException e) {
            Log.sometimes("kafka commit", "kafka: offsets of the shadow group are not committed: " + e);
            return e;
        }
    }

    /** @param served whether the last poll brought shadow records */
    private synchronized boolean next(KafkaConsumer<?, ?> consumer, boolean served) {
        boolean paired = made != null && Mark.accepting() && !Records.prefix().isEmpty();
        if (!paired) {
            end();
        }
        if (served || !paired && polled - looked < LOOK_NS) {
            return false; // business has its turn after each shadow batch
        }
        Set<String> business = look(consumer);
        if (!paired || business == null) {
            return false;
        }
        try {
            inside(() -> {
                subscribe(business);
                records = topics.isEmpty() ? null : shadow.poll(Duration.ZERO);
            });
            if (records == null || records.isEmpty()) {
                return false;
            }
            Mark next = new Mark("1");
            mark = Mark.open(next);
            thread = Thread.currentThread();
            batch = next;
            Mark.capture(); // tasks of others may follow on this thread while the mark is open
            return Cut.with(records);
        } catch (ShadowRefused e) { // disarmed since: the records come again when armed
            end();
            return false;
        }
    }

    /** The topics of the business consumer without shadow topics, which a pattern may match; null if it cannot tell. */
    private Set<String> look(KafkaConsumer<?, ?> consumer) {
        looked = polled;
        try {
            Set<String> shadowTopics = new TreeSet<>();
            Set<String> business = new HashSet<>(consumer.subscription());
            business.removeIf(topic -> Records.isShadow(topic) && shadowTopics.add(topic));
            found(shadowTopics);
            return business;
        } catch (IllegalStateException | ConcurrentModificationException e) { // closed, or in use: the poll itself says so
            return null;
        }
    }

    private void found(Set<String> shadowTopics) {
        foreign = shadowTopics;
        if (!shadowTopics.isEmpty()) {
            Log.sometimes("kafka foreign", "kafka: " + this + ", whose records are left out");
        }
    }

    @Override
    public String toString() {
        return "the business consumer " + id + " reads shadow topics, perhaps by a pattern that matches them: " + foreign;
    }

    /** For the check: business consumers that read shadow topics, or null. */
    static String finding() {
        synchronized (ALL) {
            String found = ALL.values().stream().filter(turns -> !turns.foreign.isEmpty() && !turns.isIdle())
                    .map(Turns::toString).sorted().collect(Collectors.joining("; "));
            return found.isEmpty() ? null : found;
        }
    }

    private void subscribe(Set<String> business) {
        Set<String> wanted = new HashSet<>();
        business.forEach(topic -> wanted.add(Records.topic(topic)));
        if (wanted.equals(topics)) {
            return;
        }
        if (shadow == null) {
            Map<String, Object> settings = new HashMap<>(made.settings);
            settings.put(ConsumerConfig.GROUP_ID_CONFIG, Records.prefix() + settings.get(ConsumerConfig.GROUP_ID_CONFIG));
            Object client = settings.getOrDefault(ConsumerConfig.CLIENT_ID_CONFIG, "consumer");
            settings.put(ConsumerConfig.CLIENT_ID_CONFIG, Records.prefix() + client);
            settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, BATCH);
            settings.remove("group.instance.id");
            settings.remove(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG); // they would see shadow records without the mark
            shadow = new KafkaConsumer<>(settings, deserializer(made.key), deserializer(made.value));
            OPEN.add(this);
            Log.line("kafka: shadow consumer of " + wanted + " in the group " + settings.get(ConsumerConfig.GROUP_ID_CONFIG));
        }
        shadow.subscribe(wanted);
        topics = wanted;
    }

    /** Ends the batch, on this thread or on that which has polled it; false if there is none. */
    private synchronized boolean unmark() {
        if (mark == null) {
            return false;
        }
        mark.revoke();
        mark = null;
        batch = null;
        records = null;
        thread = null;
        return true;
    }

    private static boolean isBatch(Mark mark) {
        return mark != null && OPEN.stream().anyMatch(turns -> turns.batch == mark);
    }

    private synchronized void end() {
        if (shadow != null) {
            KafkaConsumer<?, ?> old = shadow;
            shadow = null;
            topics = Collections.emptySet();
            OPEN.remove(this);
            try {
                inside(() -> old.close(Duration.ZERO));
            } catch (RuntimeException e) {
                Log.line("kafka: a shadow consumer has closed with " + e);
            }
        }
    }

    /** Ends what the business consumer has left behind, if it has ended unseen. */
    private void sweep() {
        if (isLeft()) { // first without the lock, which its own loop may hold
            synchronized (this) {
                if (isLeft()) {
                    unmark();
                    end();
                }
            }
        }
    }

    private boolean isLeft() {
        Thread working = thread;
        return (owner.get() == null || isIdle()) && (working == null || !working.isAlive());
    }

    private boolean isIdle() {
        return System.nanoTime() - polled > IDLE_NS;
    }

    static void closeAll() {
        OPEN.forEach(Turns::end);
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

    /** Runs code of the application that a shadow consumer calls. */
    static void outside(Runnable work) {
        Boolean inside = INSIDE.get();
        INSIDE.remove();
        try {
            work.run();
        } finally {
            if (inside != null) {
                INSIDE.set(inside);
            }
        }
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
