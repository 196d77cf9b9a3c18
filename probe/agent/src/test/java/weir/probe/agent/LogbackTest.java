package weir.probe.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;
import weir.probe.boot.Mark;
import weir.probe.boot.Probes;
import weir.probe.boot.ShadowRefused;

/** Logback 1.2's {@code Logger} is a class file of version 50: its join point is a helper's. */
class LogbackTest {
    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void shadow_lines_are_in_the_shadow_file_alone(String home, @TempDir Path dir) throws Exception {
        Path log = dir.resolve("app.log");
        String out = Jvms.of(home).agent("state=disarmed").run(Program.class, log.toString());
        assertEquals(Arrays.asList("before", "business", "after"), lines(log), out);
        assertEquals(Arrays.asList("shadow"), lines(dir.resolve("app.log.shadow")), out);
        assertTrue(out.contains("weir-probe: armed: by command"), out);
    }

    @ParameterizedTest
    @MethodSource("weir.probe.agent.Jvms#homes")
    void every_kind_of_appender_has_its_shadow(String home, @TempDir Path dir) throws Exception {
        String out = configured(home, dir, "{\"suffix\": \".s\", \"file\": \"" + dir + "/common\", \"max_mb\": 0.01}");
        assertTrue(out.contains("weir-probe: armed: by command"), out);
        assertEquals(Arrays.asList("business"), lines(dir.resolve("roll.log")), "through an asynchronous appender");
        assertEquals(Arrays.asList("tenant business"), lines(dir.resolve("tenant-a.log")), "through a sifting appender");
        assertEquals(Arrays.asList("tenant shadow"), lines(dir.resolve("common")).stream().map(line -> line.replaceAll(".* - ", ""))
                .collect(java.util.stream.Collectors.toList()), "the sifting appender's shadow");
        assertTrue(Files.size(dir.resolve("roll.log.s.1")) < 1 << 15, "a shadow file grows beyond its bound");
        assertEquals("shadow 2999", lines(dir.resolve("roll.log.s")).get(lines(dir.resolve("roll.log.s")).size() - 1));
        assertTrue(lines(dir.resolve("roll.log.s.1")).stream().noneMatch("filtered"::equals), "a filter of the business appender is not used");
    }

    @ParameterizedTest
    @CsvSource({"'{\"suffix\": \"\"}', shadow.logback.suffix is", "'{\"suffix\": \"/x\"}', cannot be written", "'{\"sufix\": \"x\"}', shadow.logback.sufix"})
    void a_shadow_log_that_is_none_is_found(String settings, String finding, @TempDir Path dir) throws Exception {
        String out = configured(System.getProperty("java.home"), dir, settings);
        assertTrue(out.contains(finding) && !out.contains("weir-probe: armed"), out);
    }

    private static String configured(String home, Path dir, String settings) throws Exception {
        String roll = "ch.qos.logback.core.rolling.";
        Files.write(dir.resolve("logback.xml"), Arrays.asList("<configuration>",
                "<appender name='roll' class='" + roll + "RollingFileAppender'><file>" + dir + "/roll.log</file>",
                "<rollingPolicy class='" + roll + "FixedWindowRollingPolicy'><fileNamePattern>" + dir + "/roll.%i.log</fileNamePattern></rollingPolicy>",
                "<triggeringPolicy class='" + roll + "SizeBasedTriggeringPolicy'/><encoder><pattern>%msg%n</pattern></encoder>",
                "<filter class='ch.qos.logback.classic.filter.ThresholdFilter'><level>INFO</level></filter></appender>",
                "<appender name='async' class='ch.qos.logback.classic.AsyncAppender'><appender-ref ref='roll'/></appender>",
                "<appender name='sift' class='ch.qos.logback.classic.sift.SiftingAppender'>",
                "<discriminator><key>tenant</key><defaultValue>none</defaultValue></discriminator><sift>",
                "<appender name='${tenant}' class='ch.qos.logback.core.FileAppender'><file>" + dir + "/tenant-${tenant}.log</file>",
                "<encoder><pattern>%msg%n</pattern></encoder></appender></sift></appender>",
                "<root level='DEBUG'><appender-ref ref='async'/></root>",
                "<logger name='tenant' additivity='false'><appender-ref ref='sift'/></logger></configuration>"));
        Path config = dir.resolve("probe.json");
        Files.write(config, Arrays.asList("{\"shadow\": {\"logback\": " + settings + "}}"));
        return Jvms.of(home).agent("config=" + config).option("-Dlogback.configurationFile=" + dir.resolve("logback.xml")).run(Kinds.class);
    }

    static final class Kinds {
        public static void main(String[] arguments) throws Exception {
            org.slf4j.Logger root = LoggerFactory.getLogger("app");
            org.slf4j.Logger tenant = LoggerFactory.getLogger("tenant");
            org.slf4j.MDC.put("tenant", "a");
            root.info("business");
            tenant.info("tenant business");
            System.out.println(Probes.command("arm"));
            if (!Mark.accepting()) {
                return;
            }
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                tenant.info("tenant shadow");
                for (int i = 0; i < 3000; i++) {
                    root.debug("filtered");
                    root.info("shadow " + i);
                }
            }
            ((ch.qos.logback.classic.LoggerContext) LoggerFactory.getILoggerFactory()).stop(); // waits for the asynchronous appender
        }
    }

    private static List<String> lines(Path file) throws Exception {
        return Files.readAllLines(file);
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            Logger logger = (Logger) LoggerFactory.getLogger("app");
            PatternLayoutEncoder encoder = new PatternLayoutEncoder();
            encoder.setContext(logger.getLoggerContext());
            encoder.setPattern("%msg%n");
            encoder.start();
            FileAppender<ILoggingEvent> file = new FileAppender<>();
            file.setContext(logger.getLoggerContext());
            file.setFile(arguments[0]);
            file.setEncoder(encoder);
            file.start();
            logger.addAppender(file);

            logger.info("before");
            try (Mark.Scope refused = Mark.open(new Mark("1"))) {
                throw new AssertionError("a mark is accepted though the probe is not armed");
            } catch (ShadowRefused expected) {
                Jvms.check(!Mark.marked(), "a refused mark stays");
            }
            System.out.println(Probes.command("arm"));
            logger.info("business");
            try (Mark.Scope shadow = Mark.open(new Mark("1"))) {
                logger.info("shadow");
                Probes.command("silence");
                logger.info("leak"); // is left out: the application does not expect a line of a log to throw
            }
            logger.info("after");
        }
    }
}
