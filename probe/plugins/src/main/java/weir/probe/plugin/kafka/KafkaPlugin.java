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
 * (two methods), closing, and commits, which have to reach the consumer whose turn it is.
 *
 * <p>Not possible: consumers with {@code assign}, and those made before the probe (no shadow records reach them); records
 * handed to other threads by a queue of the application's own (unmarked there; executors carry the mark); Kafka Streams;
 * {@code seek}, {@code pause} and {@code position} of shadow partitions, which the business consumer does not know.
 */
public final class KafkaPlugin implements Plugin {
    private static final String PRODUCER = "org.apache.kafka.clients.producer.KafkaProducer";
    private static final String CONSUMER = "org.apache.kafka.clients.consumer.KafkaConsumer";
    private static final String SERDE = "Lorg/apache/kafka/common/serialization/Deserializer;";

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
                        0, "Turns.see").passing(1, 2).gate(Gate.ALWAYS),
                JoinPoint.enter("poll", CONSUMER + "#poll(Ljava/time/Duration;)*", "Turns.poll").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.enter("poll-millis", CONSUMER + "#poll(J)*", "Turns.poll").passing(THIS).gate(Gate.ALWAYS).optional(),
                JoinPoint.enter("close", CONSUMER + "#close", "Turns.close").passing(THIS).gate(Gate.ALWAYS),
                JoinPoint.enter("commit-sync", CONSUMER + "#commitSync", "Turns.commitSync").passing(THIS),
                JoinPoint.enter("commit-async", CONSUMER + "#commitAsync", "Turns.commitAsync").passing(THIS));
    }

    @Override
    public List<String> expects() {
        return Arrays.asList(CONSUMER + ".subscription()Ljava/util/Set;", CONSUMER + ".close(Ljava/time/Duration;)V",
                "org.apache.kafka.clients.producer.ProducerRecord.headers()Lorg/apache/kafka/common/header/Headers;");
    }

    @Override
    public String check() {
        return "Records";
    }
}
