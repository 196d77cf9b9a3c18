package weir.probe.plugin.logback;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.FileAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.filter.Filter;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.spi.AppenderAttachable;
import java.io.File;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.ILoggerFactory;
import org.slf4j.LoggerFactory;
import weir.probe.api.Settings;

/**
 * Writes a shadow line to the twin of each file that the business line would have reached, {@code app.log.shadow} beside
 * {@code app.log}; a line that would reach no file (a console, a sifting appender, whose files are made by what is logged)
 * goes to one common shadow file. A full twin becomes {@code app.log.shadow.1} and is begun anew, so a load test cannot fill
 * the disk.
 */
public final class ShadowLog {
    private static final String PATTERN = "%d{yyyy-MM-dd HH:mm:ss.SSS} [%thread] %-5level %logger{36} - %msg%n";
    private static final String MAX_MB = "1024";
    private static final Map<String, FileAppender<ILoggingEvent>> FILES = new ConcurrentHashMap<>();

    private ShadowLog() {}

    /** Handler: the line is written, and the method left. */
    public static boolean append(Logger logger, ILoggingEvent event) {
        shadows(logger).forEach(shadow -> shadow.doAppend(event));
        return true;
    }

    /** Opens the shadow files of all loggers. */
    public static String check() {
        ILoggerFactory factory = LoggerFactory.getILoggerFactory();
        if (!(factory instanceof LoggerContext)) {
            return null;
        }
        Set<FileAppender<?>> all = new LinkedHashSet<>();
        ((LoggerContext) factory).getLoggerList().forEach(logger -> all.addAll(shadows(logger)));
        for (FileAppender<?> shadow : all) {
            if (!shadow.isStarted()) {
                FILES.remove(shadow.rawFileProperty());
                return "the shadow log " + shadow.rawFileProperty() + " cannot be written (shadow.logback)";
            }
        }
        return null;
    }

    public static void close() {
        FILES.values().forEach(FileAppender::stop);
        FILES.clear();
    }

    private static Set<FileAppender<ILoggingEvent>> shadows(Logger logger) {
        Set<FileAppender<?>> business = new LinkedHashSet<>();
        for (Logger from = logger; from != null; from = from.isAdditive() ? parent(from) : null) {
            files(from.iteratorForAppenders(), business);
        }
        LoggerContext context = logger.getLoggerContext();
        Set<FileAppender<ILoggingEvent>> shadows = new LinkedHashSet<>();
        business.forEach(appender -> shadows.add(twin(appender, context)));
        if (shadows.isEmpty()) {
            shadows.add(twin(Settings.text("logback", "file", "shadow.log"), PATTERN, Collections.emptyList(), context));
        }
        return shadows;
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

    @SuppressWarnings("unchecked")
    private static FileAppender<ILoggingEvent> twin(FileAppender<?> appender, LoggerContext context) {
        Encoder<?> encoder = appender.getEncoder();
        String pattern = encoder instanceof PatternLayoutEncoder ? ((PatternLayoutEncoder) encoder).getPattern() : PATTERN;
        // Without a name of its own, a rolling appender's file has another name each day.
        String file = appender.rawFileProperty() != null ? appender.getFile()
                : new File(new File(appender.getFile()).getParentFile(), String.valueOf(appender.getName())).getPath();
        return twin(file + Settings.text("logback", "suffix", ".shadow"), pattern, ((FileAppender<ILoggingEvent>) appender).getCopyOfAttachedFiltersList(), context);
    }

    private static FileAppender<ILoggingEvent> twin(String file, String pattern, List<Filter<ILoggingEvent>> filters, LoggerContext context) {
        FileAppender<ILoggingEvent> known = FILES.get(file);
        return known != null ? known : FILES.computeIfAbsent(file, name -> {
            PatternLayoutEncoder encoder = new PatternLayoutEncoder();
            encoder.setContext(context);
            encoder.setPattern(pattern);
            encoder.start();
            RollingFileAppender<ILoggingEvent> twin = new RollingFileAppender<>();
            twin.setContext(context);
            twin.setName("weir-shadow-" + name);
            twin.setFile(name);
            twin.setEncoder(encoder);
            filters.forEach(twin::addFilter);
            FixedWindowRollingPolicy rolling = new FixedWindowRollingPolicy();
            rolling.setContext(context);
            rolling.setParent(twin);
            rolling.setFileNamePattern(name + ".%i");
            rolling.setMinIndex(1);
            rolling.setMaxIndex(1);
            rolling.start();
            twin.setRollingPolicy(rolling);
            Full full = new Full((long) (Double.parseDouble(Settings.text("logback", "max_mb", MAX_MB)) * (1 << 20)));
            full.setContext(context);
            full.start();
            twin.setTriggeringPolicy(full);
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
