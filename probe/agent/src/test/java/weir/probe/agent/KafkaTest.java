package weir.probe.agent;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;

/** With a KRaft broker in a JVM of its own: its jars are in the directory {@code WEIR_KAFKA}, else the test is skipped. */
class KafkaTest {
    @TempDir
    Path dir;

    @Test
    void marked_records_go_by_shadow_topics_and_groups_and_mark_their_reader() throws Exception {
        String jars = System.getenv("WEIR_KAFKA");
        assumeTrue(jars != null && new File(jars).isDirectory(), "no broker: mvn -f agent/src/test/broker package, then set WEIR_KAFKA");
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
            Jvms.of(System.getProperty("java.home")).agent("config=" + probe).run(Program.class, "127.0.0.1:" + broker.port);
        }
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", arguments[0]);
            settings.put("group.id", "shop");
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
            KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
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
            TopicPartition shadow = new TopicPartition("shadow-orders", 0);
            Jvms.check(consumer.committed(Collections.singleton(shadow)).get(shadow) == null, "the business group has a shadow offset");
            settings.put("group.id", "shadow-shop");
            KafkaConsumer<String, String> other = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
            Jvms.check(other.committed(Collections.singleton(shadow)).get(shadow).offset() == 1, "the shadow group has no offset");
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                producer.send(new ProducerRecord<>("orders", "later")).get();
            }
            Probes.command("disarm");
            for (int i = 0; i < 10; i++) {
                Jvms.check(consumer.poll(Duration.ofMillis(100)).isEmpty() && !Mark.marked(), "a shadow record is read while disarmed");
            }
            Probes.command("arm");
            consumer.commitSync();
            KafkaConsumer<String, String> second = new KafkaConsumer<>(with(settings, "second"), new StringDeserializer(), new StringDeserializer());
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

        private static Map<String, Object> with(Map<String, Object> settings, String group) {
            Map<String, Object> own = new HashMap<>(settings);
            own.put("group.id", group);
            return own;
        }

        /** Polls a shadow record, whose batch is open when this returns. */
        private static Void batch(KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer) throws Exception {
            try (Mark.Scope mark = Mark.open(new Mark("1"))) {
                producer.send(new ProducerRecord<>("orders", "shadow")).get();
            }
            for (long end = System.nanoTime() + 60_000_000_000L; !Mark.marked() && System.nanoTime() < end; ) {
                consumer.poll(Duration.ofMillis(50));
            }
            Jvms.check(Mark.marked(), "no shadow record comes");
            return null;
        }
    }
}
