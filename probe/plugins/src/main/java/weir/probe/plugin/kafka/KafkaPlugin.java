package weir.probe.plugin.kafka;

import static weir.probe.api.JoinPoint.THIS;

import java.util.Arrays;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;
import weir.probe.boot.Gate;

/**
 * Records of marked threads go to shadow topics. Beside each business consumer stands a shadow consumer of the shadow
 * topics in a shadow group; {@code poll} takes turns, so a batch is all business or all shadow, and from a shadow batch to
 * the next {@code poll} the polling thread is marked. So each way to read a batch is covered, and business offsets never
 * move for shadow records. Hence the join points: sending and its callback, the configuration of a consumer that is made, polling
 * (two methods, which do not bring records of shadow topics otherwise), closing, and the seven forms of a commit, which reaches the
 * group whose records it acknowledges.
 *
 * <p>Not possible: consumers with {@code assign}, and those made before the probe (no shadow records reach them); records
 * handed to other threads by a queue of the application's own (unmarked there; executors carry the mark); Kafka Streams, and
 * consumers with assignors of their own, which stay wholly business: a second consumer would share the objects in their settings;
 * {@code seek}, {@code pause} and {@code position} of shadow partitions, which the business consumer does not know. Interceptors of
 * consumers are not called for shadow records, and deserializers are called without the mark, as they run where the client writes
 * to its sockets. Interceptors, and applications while the probe is silent, get the records of shadow topics that a pattern matches.
 */
public final class KafkaPlugin implements Plugin {
    private static final String PRODUCER = "org.apache.kafka.clients.producer.KafkaProducer";
    private static final String CONSUMER = "org.apache.kafka.clients.consumer.KafkaConsumer";
    private static final String SERDE = "Lorg/apache/kafka/common/serialization/Deserializer;";
    private static final String SYNC = CONSUMER + "#commitSync(";
    private static final String ASYNC = CONSUMER + "#commitAsync(";
    private static final String OFFSETS = "Ljava/util/Map;";
    private static final String TIME = "Ljava/time/Duration;";
    private static final String CALLBACK = "Lorg/apache/kafka/clients/consumer/OffsetCommitCallback;";

    @Override
    public String name() {
        return "kafka";
    }

    @Override
    public String library() {
        return "kafka-clients 2.4 to 4.0";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Arrays.asList(
                JoinPoint.argument("send", PRODUCER + "#send(Lorg/apache/kafka/clients/producer/ProducerRecord;"
                        + "Lorg/apache/kafka/clients/producer/Callback;)*", 0, "Records.shadow"),
                JoinPoint.argument("callback", PRODUCER + "#send(Lorg/apache/kafka/clients/producer/ProducerRecord;"
                        + "Lorg/apache/kafka/clients/producer/Callback;)*", 1, "Records.callback"),
                JoinPoint.enter("offsets", PRODUCER + "#sendOffsetsToTransaction", "Records.refuse"),
                JoinPoint.argument("see", CONSUMER + "#<init>(Lorg/apache/kafka/clients/consumer/ConsumerConfig;" + SERDE + SERDE + ")V",
                        0, "Made.see").passing(1, 2).gate(Gate.ALWAYS),
                JoinPoint.enter("poll", CONSUMER + "#poll(Ljava/time/Duration;)*", "Turns.poll").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.enter("poll-millis", CONSUMER + "#poll(J)*", "Turns.poll").passing(THIS).gate(Gate.ALWAYS).optional(),
                JoinPoint.result("batch", CONSUMER + "#poll(Ljava/time/Duration;)*", "Turns.business").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.result("batch-millis", CONSUMER + "#poll(J)*", "Turns.business").passing(THIS).gate(Gate.ALWAYS).optional(),
                JoinPoint.enter("close", CONSUMER + "#close", "Turns.close").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.around("commit-sync", CONSUMER + "#commitSync", "Commits").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.around("commit-async", CONSUMER + "#commitAsync", "Commits").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.enter("sync", SYNC + ")V", "Commits.sync").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.enter("sync-within", SYNC + TIME + ")V", "Commits.syncWithin").passing(THIS, 0).gate(Gate.ALWAYS),
                JoinPoint.argument("sync-rest", SYNC + OFFSETS + ")V", 0, "Commits.syncRest").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.argument("sync-rest-within", SYNC + OFFSETS + TIME + ")V", 0, "Commits.syncRestWithin").passing(THIS, 1)
                        .gate(Gate.ALWAYS),
                JoinPoint.enter("async", ASYNC + ")V", "Commits.async").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.enter("async-told", ASYNC + CALLBACK + ")V", "Commits.asyncTold").passing(THIS, 0).gate(Gate.ALWAYS),
                JoinPoint.enter("async-offsets", ASYNC + OFFSETS + CALLBACK + ")V", "Commits.asyncOffsets").passing(THIS, 0, 1)
                        .gate(Gate.ALWAYS),
                JoinPoint.argument("async-rest", ASYNC + OFFSETS + CALLBACK + ")V", 0, "Commits.asyncRest").passing(THIS)
                        .gate(Gate.ALWAYS));
    }

    @Override
    public List<String> expects() {
        return Arrays.asList(CONSUMER + ".subscription()Ljava/util/Set;", CONSUMER + ".close(Ljava/time/Duration;)V",
                "org.apache.kafka.clients.consumer.ConsumerRecords.<init>(Ljava/util/Map;)V",
                "org.apache.kafka.clients.producer.ProducerRecord.headers()Lorg/apache/kafka/common/header/Headers;");
    }

    @Override
    public String check() {
        return "Records";
    }
}
