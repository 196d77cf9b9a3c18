package weir.probe.plugin.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetCommitCallback;
import org.apache.kafka.common.TopicPartition;
import weir.probe.api.Log;
import weir.probe.boot.Cut;
import weir.probe.boot.Held;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/**
 * Commits reach the group that has read the records. Without offsets, a commit is that of the consumer whose batch is worked on;
 * offsets that are given are split by the topics' prefix, with or without a mark, as records may be acknowledged late. A callback
 * is called by one consumer: by the shadow consumer if all offsets are those of shadow topics. Handlers of one method do not rely
 * on their order: they go by the consumer's batch and not by the mark, which {@link #enter} may have hidden.
 */
public final class Commits {
    private static final OffsetCommitCallback LOGGED = (offsets, failure) -> {
        if (failure != null) {
            Log.sometimes("kafka commit", "kafka: offsets of the shadow group are not committed: " + failure);
        }
    };

    /** What is left for the business consumer: handlers that come after leave it as it is. */
    private static final class Rest extends HashMap<TopicPartition, OffsetAndMetadata> {
        private static final long serialVersionUID = 1;
    }

    /** Offsets that were given, by the consumer that commits them. */
    private static final class Split {
        final Map<TopicPartition, OffsetAndMetadata> shadow = new HashMap<>();
        final Map<TopicPartition, OffsetAndMetadata> business = new Rest();

        Split(Turns turns, Map<TopicPartition, OffsetAndMetadata> given) {
            if (turns == null || given == null || given instanceof Rest || Records.prefix().isEmpty()) {
                return;
            }
            given.forEach((partition, offset) -> {
                TopicPartition prefixed = new TopicPartition(Records.topic(partition.topic()), partition.partition());
                // An application that has its topic's name from elsewhere than the record leaves the prefix out.
                boolean isShadow = prefixed.equals(partition) ? turns.batch() != null || !turns.isForeign(partition.topic())
                        : !given.containsKey(prefixed) && turns.batchHas(prefixed, offset.offset());
                (isShadow ? shadow : business).put(isShadow ? prefixed : partition, offset);
            });
        }
    }

    private Commits() {}

    /** Handler around each commit: what is left for the business consumer is done without the mark. */
    public static Object enter(KafkaConsumer<?, ?> consumer) {
        return turns(consumer) != null && Mark.marked() ? Mark.open(null) : null;
    }

    public static void exit(Object hidden, Throwable thrown) {
        ((Mark.Scope) hidden).close();
    }

    /** Handler of a commit without offsets, as are the next three: in a shadow batch, what the shadow consumer has read. */
    public static boolean sync(KafkaConsumer<?, ?> consumer) {
        return commit(consumer, shadow -> shadow.commitSync());
    }

    public static boolean syncWithin(KafkaConsumer<?, ?> consumer, Duration timeout) {
        return commit(consumer, shadow -> shadow.commitSync(timeout));
    }

    public static boolean async(KafkaConsumer<?, ?> consumer) {
        return commit(consumer, shadow -> shadow.commitAsync(LOGGED));
    }

    public static boolean asyncTold(KafkaConsumer<?, ?> consumer, OffsetCommitCallback callback) {
        Turns turns = turns(consumer);
        return turns != null && turns.batch() != null && commit(consumer, shadow -> shadow.commitAsync(told(callback, turns.batch())));
    }

    /** Handler: commits what is for the shadow group, and returns the offsets that are left for the business consumer. */
    public static Map<TopicPartition, OffsetAndMetadata> syncRest(Map<TopicPartition, OffsetAndMetadata> given,
            KafkaConsumer<?, ?> consumer) {
        return syncRestWithin(given, consumer, null);
    }

    /** The same; the time may be null. */
    public static Map<TopicPartition, OffsetAndMetadata> syncRestWithin(Map<TopicPartition, OffsetAndMetadata> given,
            KafkaConsumer<?, ?> consumer, Duration timeout) {
        Turns turns = turns(consumer);
        Split split = new Split(turns, given);
        if (split.shadow.isEmpty()) {
            return given;
        }
        RuntimeException failure = turns.commit(shadow -> {
            if (timeout == null) {
                shadow.commitSync(split.shadow);
            } else {
                shadow.commitSync(split.shadow, timeout);
            }
        });
        if (failure != null && split.business.isEmpty() && turns.batch() != null) { // else business goes on, and the log has it
            throw refusal(failure);
        }
        return split.business;
    }

    /** Handler: commits offsets that are all for the shadow group. */
    public static boolean asyncOffsets(KafkaConsumer<?, ?> consumer, Map<TopicPartition, OffsetAndMetadata> given,
            OffsetCommitCallback callback) {
        Turns turns = turns(consumer);
        Split split = new Split(turns, given);
        if (split.shadow.isEmpty() || !split.business.isEmpty()) {
            return false;
        }
        OffsetCommitCallback told = told(callback, turns.batch());
        RuntimeException failure = turns.commit(shadow -> shadow.commitAsync(split.shadow, told));
        if (failure != null) {
            told.onComplete(split.shadow, failure);
        }
        return Cut.with(null);
    }

    /** Handler: of offsets for both groups, returns those that are left for the business consumer, which calls the callback. */
    public static Map<TopicPartition, OffsetAndMetadata> asyncRest(Map<TopicPartition, OffsetAndMetadata> given,
            KafkaConsumer<?, ?> consumer) {
        Turns turns = turns(consumer);
        Split split = new Split(turns, given);
        if (split.shadow.isEmpty() || split.business.isEmpty()) {
            return given;
        }
        turns.commit(shadow -> shadow.commitAsync(split.shadow, LOGGED));
        return split.business;
    }

    private static boolean commit(KafkaConsumer<?, ?> consumer, Consumer<KafkaConsumer<Object, Object>> work) {
        Turns turns = turns(consumer);
        if (turns == null || turns.batch() == null) {
            return false;
        }
        RuntimeException failure = turns.commit(work);
        if (failure != null) {
            throw refusal(failure);
        }
        return Cut.with(null);
    }

    /** The consumer's turns; null for a shadow consumer. */
    private static Turns turns(KafkaConsumer<?, ?> consumer) {
        Turns turns = Turns.of(consumer);
        if (turns != null && turns.batch() == null && Mark.marked()) {
            throw new ShadowRefused("kafka: shadow traffic may not commit for a business group");
        }
        return turns;
    }

    private static ShadowRefused refusal(RuntimeException failure) {
        return new ShadowRefused("kafka: the offsets of the shadow group are not committed", failure);
    }

    /** The callback of a shadow commit, which the shadow consumer calls when it is polled next: under the mark of the batch. */
    private static OffsetCommitCallback told(OffsetCommitCallback given, Mark batch) {
        if (given == null) {
            return LOGGED;
        }
        Held held = batch == null ? null : new Held(batch);
        return (offsets, failure) -> Turns.outside(() -> {
            try (Mark.Scope scope = held == null ? Mark.open(null) : held.open()) {
                given.onComplete(offsets, failure);
            } catch (RuntimeException e) { // not a fault of the handler that polls
                Log.sometimes("kafka callback", "kafka: a callback of a shadow commit failed: " + e);
            }
        });
    }
}
