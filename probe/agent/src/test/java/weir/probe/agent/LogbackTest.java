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
                try {
                    logger.info("leak");
                    throw new AssertionError("a marked call passes a silent probe while its mark lives");
                } catch (ShadowRefused expected) {
                    // refused
                }
            }
            logger.info("after");
        }
    }
}
