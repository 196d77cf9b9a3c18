package weir.peer.linkagent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder.RedefinitionStrategy;
import net.bytebuddy.agent.builder.ResettableClassFileTransformer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AgentTest {
  @TempDir Path directory;
  private final LoggerContext context = new LoggerContext();
  private final Counting counting = new Counting();
  private ResettableClassFileTransformer transformer;

  /** Sees what walks the chain. */
  private static final class Counting extends Handler {
    Handler inner;
    int walks;
    int cuts;

    @Override
    Result before(int id, Object[] arguments, Class<?> type, String method, String descriptor, Object target)
        throws Throwable {
      walks++;
      Result result = inner.before(id, arguments, type, method, descriptor, target);
      cuts += result == null ? 0 : 1;
      return result;
    }

    @Override
    void end(int id, Class<?> type, Object outcome, int eventType) throws Throwable {
      inner.end(id, type, outcome, eventType);
    }
  }

  private void install(String mode) {
    transformer = Agent.install(mode, ByteBuddyAgent.install());
    counting.inner = Messager.handler();
    Messager.start(counting, mode.equals("after"));
  }

  @AfterEach
  void remove() {
    context.stop();
    Messager.silence(false);
    if (transformer != null) {
      transformer.reset(ByteBuddyAgent.install(), RedefinitionStrategy.RETRANSFORMATION);
    }
  }

  private Logger logger(boolean async) {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setPattern("%msg%n");
    encoder.setContext(context);
    encoder.start();
    FileAppender<ILoggingEvent> file = new FileAppender<>();
    file.setContext(context);
    file.setName("file");
    file.setEncoder(encoder);
    file.setFile(directory.resolve("app.log").toString());
    file.start();
    Logger logger = context.getLogger("shop");
    if (!async) {
      logger.addAppender(file);
      return logger;
    }
    AsyncAppender queue = new AsyncAppender();
    queue.setContext(context);
    queue.setName("async");
    queue.addAppender(file);
    queue.start();
    logger.addAppender(queue);
    return logger;
  }

  private static void shadow(Runnable work) {
    Pradar.start(true);
    try {
      work.run();
    } finally {
      Pradar.end();
    }
  }

  private List<String> lines(String name, int wanted) throws Exception {
    Path file = directory.resolve(name);
    List<String> lines = new ArrayList<>();
    for (int tries = 0; tries < 100 && lines.size() < wanted; tries++) {
      Thread.sleep(20);
      lines = Files.exists(file) ? Files.readAllLines(file) : lines;
    }
    return lines;
  }

  @ParameterizedTest
  @CsvSource({"before,false", "before,true", "after,false", "after,true"})
  void shadowLinesGoToTheShadowFileAndBusinessLinesDoNot(String mode, boolean async) throws Exception {
    install(mode);
    Logger logger = logger(async);
    logger.info("business 1");
    shadow(() -> logger.info("shadow"));
    logger.info("business 2");
    assertEquals(List.of("business 1", "business 2"), lines("app.log", 2));
    assertEquals(List.of("shadow"), lines("app.log.shadow", 1));
  }

  @ParameterizedTest
  @CsvSource({"before,3,1", "after,0,0"})
  void aBusinessLineWalksTheChainOnlyBeforeTheOptimisation(String mode, int walks, int cuts) {
    install(mode);
    Logger logger = logger(false);
    logger.info("warm");
    shadow(() -> logger.info("warm"));
    counting.walks = counting.cuts = 0;
    logger.info("business");
    assertEquals(walks, counting.walks);
    assertEquals(cuts, counting.cuts);
  }

  @Test
  void silenceTurnsTheOptimisedListenersOff() throws Exception {
    install("after");
    Logger logger = logger(false);
    Messager.silence(true);
    shadow(() -> logger.info("not redirected"));
    assertEquals(List.of("not redirected"), lines("app.log", 1));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "After"})
  void anUnknownModeIsRefused(String mode) {
    assertThrows(IllegalArgumentException.class, () -> Agent.install(mode, ByteBuddyAgent.install()));
  }
}
