package weir.probe.plugin.logback;

import java.util.Collections;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * Lines of shadow traffic go to shadow log files. One join point: {@code Logger.callAppenders}, before any appender. So
 * sifting and asynchronous appenders are covered on the caller's thread, where the mark is, and no business appender
 * sees a shadow line.
 */
public final class LogbackPlugin implements Plugin {
    @Override
    public String name() {
        return "logback";
    }

    @Override
    public String library() {
        return "logback-classic 1.1 to 1.5";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Collections.singletonList(JoinPoint.enter("append",
                "ch.qos.logback.classic.Logger#callAppenders(Lch/qos/logback/classic/spi/ILoggingEvent;)V", "ShadowLog.append")
                .passing(JoinPoint.THIS, 0).dropping());
    }

    @Override
    public List<String> expects() {
        return java.util.Arrays.asList(
                "ch.qos.logback.core.FileAppender.getFile()Ljava/lang/String;",
                "ch.qos.logback.classic.Logger.isAdditive()Z");
    }

    @Override
    public String check() {
        return "ShadowLog";
    }
}
