package weir.probe.plugin.logback;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.FileAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.AppenderAttachable;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import weir.probe.api.Settings;

/**
 * Writes a shadow line to the twin of each file that the business line would have reached, {@code app.log.shadow} beside
 * {@code app.log}; a line that would reach no file (a console, a sifting appender) goes to one common shadow file.
 */
public final class ShadowLog {
    private static final String PATTERN = "%d{yyyy-MM-dd HH:mm:ss.SSS} [%thread] %-5level %logger{36} - %msg%n";
    private static final Map<String, FileAppender<ILoggingEvent>> FILES = new ConcurrentHashMap<>();

    private ShadowLog() {}

    /** Handler: the line is written, and the method left. */
    public static boolean append(Logger logger, ILoggingEvent event) {
        Set<FileAppender<?>> business = new LinkedHashSet<>();
        for (Logger from = logger; from != null; from = from.isAdditive() ? parent(from) : null) {
            files(from.iteratorForAppenders(), business);
        }
        String suffix = Settings.text("logback", "suffix", ".shadow");
        if (business.isEmpty()) {
            String file = Settings.text("logback", "file", "shadow.log");
            twin(file, PATTERN, logger.getLoggerContext()).doAppend(event);
        }
        for (FileAppender<?> appender : business) {
            twin(appender.getFile() + suffix, pattern(appender), logger.getLoggerContext()).doAppend(event);
        }
        return true;
    }

    private static void files(Iterator<? extends Appender<?>> appenders, Set<FileAppender<?>> found) {
        while (appenders.hasNext()) {
            Appender<?> appender = appenders.next();
            if (appender instanceof FileAppender) {
                found.add((FileAppender<?>) appender);
            } else if (appender instanceof AppenderAttachable) { // asynchronous
                files(((AppenderAttachable<?>) appender).iteratorForAppenders(), found);
            }
        }
    }

    private static String pattern(FileAppender<?> appender) {
        Encoder<?> encoder = appender.getEncoder();
        return encoder instanceof PatternLayoutEncoder ? ((PatternLayoutEncoder) encoder).getPattern() : PATTERN;
    }

    private static FileAppender<ILoggingEvent> twin(String file, String pattern, LoggerContext context) {
        return FILES.computeIfAbsent(file, name -> {
            PatternLayoutEncoder encoder = new PatternLayoutEncoder();
            encoder.setContext(context);
            encoder.setPattern(pattern);
            encoder.start();
            FileAppender<ILoggingEvent> twin = new FileAppender<>();
            twin.setContext(context);
            twin.setName("weir-shadow-" + name);
            twin.setFile(name);
            twin.setEncoder(encoder);
            twin.start();
            return twin;
        });
    }

    private static Logger parent(Logger logger) {
        String name = logger.getName();
        if (name.equals(org.slf4j.Logger.ROOT_LOGGER_NAME)) {
            return null;
        }
        int dot = name.lastIndexOf('.');
        return logger.getLoggerContext().getLogger(dot < 0 ? org.slf4j.Logger.ROOT_LOGGER_NAME : name.substring(0, dot));
    }
}
