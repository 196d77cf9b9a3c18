package weir.probe.agent;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetCommitCallback;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

/** With a KRaft broker in a JVM of its own: its jars are in the directory {@code WEIR_KAFKA_JARS}, else the test is skipped. */
class KafkaTest {
    @TempDir
    Path dir;

    @Test
    void marked_records_go_by_shadow_topics_and_groups_and_mark_their_reader() throws Exception {
        String jars = System.getenv("WEIR_KAFKA_JARS");
        assumeTrue(jars != null && new File(jars).isDirectory(), "no broker: set WEIR_KAFKA_JARS to what scripts/kafka-jars.sh prints");
        String path = jars + File.separator + '*';
        int port = Servers.free();
        Path config = dir.resolve("server.properties");
        Path logs = dir.resolve("logs");
        Files.write(config, Arrays.asList("process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER",
                "listeners=PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + Servers.free(),
                "controller.quorum.voters=1@127.0.0.1:PORT", "log.dirs=" + logs, "offsets.topic.replication.factor=1",
                "offsets.topic.num.partitions=1", "num.partitions=1", "group.initial.rebalance.delay.ms=0"));
        String text = new String(Files.readAllBytes(config));
        String controller = text.replaceAll("(?s).*CONTROLLER://127.0.0.1:(\\d+).*", "$1");
        Files.write(config, text.replace("PORT", controller).getBytes());
        String java = System.getProperty("java.home") + "/bin/java";
        String[] format = {java, "-cp", path, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", config.toString()};
        Process formatting = new ProcessBuilder(format).redirectErrorStream(true).redirectOutput(new File(dir.toFile(), "format.log")).start();
        assumeTrue(formatting.waitFor() == 0, "the broker's storage cannot be formatted");
        try (Servers broker = Servers.start(port, dir, Arrays.asList(java, "-Xmx400m", "-cp", path, "kafka.Kafka", config.toString()))) {
            Path probe = dir.resolve("probe.json");
            Files.write(probe, "{\"shadow\": {\"kafka\": {\"prefix\": \"shadow-\"}}}".getBytes());
            Jvms.of(System.getProperty("java.home")).agent("config=" + probe).limit(120).run(Program.class, "127.0.0.1:" + broker.port);
        }
    }

    static final class Program {
        private static final TopicPartition ORDERS = new TopicPartition("orders", 0);
        private static final TopicPartition SHADOW = new TopicPartition("shadow-orders", 0);

        public static void main(String[] arguments) throws Exception {
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", arguments[0]);
            settings.put("group.id", "shop");
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
            settings.put("interceptor.classes", Watch.class.getName());
            KafkaConsumer<String, String> consumer = consumer(settings);
            consumer.subscribe(Collections.singleton("orders"));
            System.out.println(Probes.command("arm"));
            producer.send(new ProducerRecord<>("orders", "business")).get();
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                Jvms.check(producer.send(new ProducerRecord<>("orders", "shadow")).get().topic().equals("shadow-orders"), "topic");
            }
            Set<String> seen = new HashSet<>();
            for (long end = System.nanoTime() + 60_000_000_000L; seen.size() < 2 && System.nanoTime() < end; ) {
                ConsumerRecords<String, String> batch = consumer.poll(Duration.ofMillis(200));
                for (ConsumerRecord<String, String> record : batch) {
                    seen.add(record.value());
                    Jvms.check(Mark.marked() == record.value().equals("shadow"), record + " is read with mark " + Mark.current());
                    Jvms.check(record.topic().startsWith("shadow-") == Mark.marked(), record.topic());
                    consumer.commitSync();
                }
            }
            Jvms.check(seen.equals(new HashSet<>(Arrays.asList("business", "shadow"))), "seen: " + seen);
            consumer.poll(Duration.ofMillis(100));
            Jvms.check(!Mark.marked(), "the mark stays after the shadow batch");
            Jvms.check(committed(consumer, SHADOW) == null, "the business group has a shadow offset");
            settings.put("group.id", "shadow-shop");
            KafkaConsumer<String, String> other = consumer(settings);
            Jvms.check(committed(other, SHADOW).offset() == 1, "the shadow group has no offset");
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                producer.send(new ProducerRecord<>("orders", "later")).get();
            }
            Probes.command("disarm");
            for (int i = 0; i < 10; i++) {
                Jvms.check(consumer.poll(Duration.ofMillis(100)).isEmpty() && !Mark.marked(), "a shadow record is read while disarmed");
            }
            Probes.command("arm");
            consumer.commitSync();
            KafkaConsumer<String, String> second = consumer(with(settings, "second"));
            second.subscribe(Collections.singleton("others"));
            producer.send(new ProducerRecord<>("others", "business")).get();
            batch(producer, consumer);
            Jvms.check(second.poll(Duration.ofMillis(200)).isEmpty() && Mark.marked(), "a poll in another consumer's batch");
            consumer.poll(Duration.ofMillis(10));
            Jvms.check(!Mark.marked(), "the batch does not end");
            ConsumerRecords<String, String> others = second.poll(Duration.ofMillis(200));
            for (int i = 0; i < 300 && others.isEmpty(); i++) {
                others = second.poll(Duration.ofMillis(200));
            }
            Jvms.check(others.count() == 1 && !Mark.marked(), "the second consumer stops");

            commits(producer, consumer, other);
            ownAssignor(with(settings, "own"));
            pattern(with(settings, "pattern"));
            Jvms.check(!Watch.seesShadow, "an interceptor sees shadow records without their mark");

            ExecutorService pool = Executors.newFixedThreadPool(1);
            pool.submit(() -> batch(producer, consumer)).get();
            Jvms.check(!pool.submit(Mark::marked).get(), "the next task of the pool is marked");
            consumer.poll(Duration.ofMillis(10)); // on another thread than the batch
            Jvms.check(Mark.live() == 0, "a mark stays on the thread that polled first");
            batch(producer, consumer);
            consumer.close();
            Jvms.check(!Mark.marked() && Mark.live() == 0, "a mark outlives its consumer");
            System.exit(0);
        }

        /** Offsets that are given go to the groups of their topics, in a shadow batch and after it; callbacks are called once. */
        private static void commits(KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer,
                KafkaConsumer<String, String> shadow) throws Exception {
            TopicPartition[][] cases = {{}, {SHADOW}, {ORDERS}, {ORDERS, SHADOW}};
            for (boolean late : new boolean[] {false, true}) {
                for (boolean wait : new boolean[] {false, true}) {
                    for (TopicPartition[] topics : cases) {
                        String name = (late ? "late " : "") + (wait ? "sync " : "async ") + Arrays.toString(topics);
                        batch(producer, consumer);
                        if (late) {
                            drain(consumer);
                        }
                        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                        Arrays.asList(topics).forEach(topic -> offsets.put(topic, new OffsetAndMetadata(1, name)));
                        List<String> calls = new ArrayList<>();
                        OffsetCommitCallback callback = (done, failure) -> calls.add("failure " + failure + ", marked " + Mark.marked());
                        if (wait && topics.length == 0) {
                            consumer.commitSync();
                        } else if (wait) {
                            consumer.commitSync(offsets);
                        } else if (topics.length == 0) {
                            consumer.commitAsync(callback);
                        } else {
                            consumer.commitAsync(offsets, callback);
                        }
                        Jvms.check(Mark.marked() != late, name + ": the batch's mark is gone");
                        for (long end = System.nanoTime() + 10_000_000_000L; !wait && calls.isEmpty() && System.nanoTime() < end; ) {
                            consumer.poll(Duration.ofMillis(20));
                        }
                        drain(consumer);
                        boolean marked = !late && !offsets.containsKey(ORDERS);
                        Jvms.check(wait || calls.equals(Collections.singletonList("failure null, marked " + marked)), name + ": " + calls);
                        Jvms.check(committed(consumer, SHADOW) == null, name + ": the business group has a shadow offset");
                        for (TopicPartition topic : topics) {
                            String metadata = committed(topic == SHADOW ? shadow : consumer, topic).metadata();
                            Jvms.check(metadata.equals(name), name + ": " + topic + " has what was committed " + metadata);
                        }
                    }
                }
            }
            OffsetAndMetadata same = new OffsetAndMetadata(batch(producer, consumer) + 1, "same");
            Map<TopicPartition, OffsetAndMetadata> both = new HashMap<>();
            both.put(ORDERS, same);
            both.put(SHADOW, same);
            consumer.commitAsync(both, null);
            drain(consumer);
            Jvms.check(committed(consumer, ORDERS).metadata().equals("same"), "a business offset that is a shadow offset too is lost");
            Jvms.check(committed(shadow, SHADOW).metadata().equals("same"), "a shadow offset that is a business offset too is lost");
            OffsetAndMetadata bare = new OffsetAndMetadata(batch(producer, consumer) + 1, "no prefix");
            consumer.commitSync(Collections.singletonMap(ORDERS, bare));
            drain(consumer);
            Jvms.check(committed(shadow, SHADOW).metadata().equals("no prefix"), "a shadow offset without the prefix is lost");
            Jvms.check(!committed(consumer, ORDERS).metadata().equals("no prefix"), "a shadow offset is committed for business");
        }

        /** A second consumer would share what such an assignor has in its settings. */
        private static void ownAssignor(Map<String, Object> settings) {
            settings.put("partition.assignment.strategy", Own.class.getName());
            KafkaConsumer<String, String> own = consumer(settings);
            own.subscribe(Collections.singleton("orders"));
            boolean read = false;
            for (int i = 0; i < 20 || !read && i < 600; i++) {
                read |= !own.poll(Duration.ofMillis(50)).isEmpty();
                Jvms.check(!Mark.marked(), "a consumer with an assignor of its own reads shadow topics");
            }
            Jvms.check(read, "a consumer with an assignor of its own reads nothing");
            own.close();
        }

        /** A pattern that matches shadow topics brings none of their records, and the check finds it. */
        private static void pattern(Map<String, Object> settings) throws Exception {
            settings.remove("interceptor.classes");
            Probes.command("disarm");
            KafkaConsumer<String, String> all = consumer(settings);
            all.subscribe(Pattern.compile(".*orders"));
            Set<String> topics = new HashSet<>();
            boolean read = false;
            for (long end = System.nanoTime() + 30_000_000_000L; !(read && topics.contains("orders")) && System.nanoTime() < end; ) {
                all.poll(Duration.ofMillis(50)).forEach(record -> topics.add(record.topic()));
                read = all.assignment().contains(SHADOW) && all.position(SHADOW) > 0;
            }
            Jvms.check(read && topics.equals(Collections.singleton("orders")), "a pattern brings " + topics);
            String refused = Probes.command("arm");
            Jvms.check(refused.startsWith("disarmed") && refused.contains("shadow-orders"), refused);
            all.close();
            String armed = Probes.command("arm");
            Jvms.check(armed.startsWith("armed"), armed);
        }

        private static KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
            return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        }

        private static OffsetAndMetadata committed(KafkaConsumer<String, String> consumer, TopicPartition partition) {
            return consumer.committed(Collections.singleton(partition)).get(partition);
        }

        /** Polls until no shadow batch is open, and for callbacks that would be called twice. */
        private static void drain(KafkaConsumer<String, String> consumer) {
            for (int i = 0; i < 6 || Mark.marked(); i++) {
                consumer.poll(Duration.ofMillis(10));
            }
        }

        private static Map<String, Object> with(Map<String, Object> settings, String group) {
            Map<String, Object> own = new HashMap<>(settings);
            own.put("group.id", group);
            return own;
        }

        /** Polls a shadow record, whose batch is open when this returns; its offset. */
        private static long batch(KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer) throws Exception {
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                producer.send(new ProducerRecord<>("orders", "shadow")).get();
            }
            long offset = -1;
            for (long end = System.nanoTime() + 60_000_000_000L; !Mark.marked() && System.nanoTime() < end; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(50))) {
                    offset = record.offset();
                }
            }
            Jvms.check(Mark.marked(), "no shadow record comes");
            return offset;
        }

        /** What sees shadow records must be marked, which an interceptor is not. */
        public static final class Watch implements ConsumerInterceptor<String, String> {
            static volatile boolean seesShadow;

            @Override
            public ConsumerRecords<String, String> onConsume(ConsumerRecords<String, String> records) {
                seesShadow |= records.partitions().contains(SHADOW);
                return records;
            }

            @Override
            public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}

            @Override
            public void configure(Map<String, ?> settings) {}

            @Override
            public void close() {}
        }

        public static final class Own extends RangeAssignor {}
    }
}
