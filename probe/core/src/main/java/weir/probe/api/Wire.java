package weir.probe.api;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import weir.probe.boot.Mark;
import weir.probe.boot.ShadowRefused;

/**
 * The mark between services, for every protocol alike: how it is read, written, and to whom. Of the shadow
 * configuration: {@code "mark": {"baggage": "weir.shadow", "accept": ["p-pradar-cluster-test"]}}, the member's key and
 * headers of other makes (the name with a value other than 0 and false); and {@code "allow": ["stock:20880", "stock",
 * "shop.Stock"]}, the services that shadow calls may reach, by host and port, host, or interface. Nobody is allowed by
 * default.
 */
public final class Wire {
    private static final List<String> FALSE = Arrays.asList("", "0", "false");
    private static volatile Words words = new Words(-1, Collections.emptyList());

    private Wire() {}

    /**
     * The mark of what arrives, or null for business.
     *
     * @param headers all lines of a header, joined by commas; null if there is none
     * @throws IllegalArgumentException if there is a mark that cannot be read, in words for the sender
     */
    public static Mark read(UnaryOperator<String> headers) {
        Words words = words();
        String baggage = headers.apply(Baggage.HEADER);
        String value = baggage == null ? null : Baggage.get(baggage, words.key);
        value = value == null || FALSE.contains(value.toLowerCase(Locale.ROOT)) ? null : value;
        for (int i = 0; value == null && i < words.accept.length; i++) {
            value = headers.apply(words.accept[i]);
            if (value != null && value.length() > Baggage.MAX_VALUE) {
                throw new IllegalArgumentException("the mark `" + words.accept[i] + "` is longer than " + Baggage.MAX_VALUE + " bytes");
            }
            value = value == null || FALSE.contains(value.trim().toLowerCase(Locale.ROOT)) ? null : "1";
        }
        return value == null ? null : new Mark(value);
    }

    /** Whether what arrives could have a mark: for an edge that has failed and must not take shadow traffic for business. */
    public static boolean mayBeMarked(UnaryOperator<String> headers) {
        Words words = words();
        String baggage = headers.apply(Baggage.HEADER);
        boolean may = baggage != null && baggage.contains(words.key);
        for (String name : words.accept) {
            may |= headers.apply(name) != null;
        }
        return may;
    }

    /** Baggage with the thread's mark, for a call that {@link #leave} has let go. */
    public static String write(String baggage) {
        try {
            return Baggage.put(baggage, words().key, Mark.current().value());
        } catch (IllegalArgumentException e) {
            throw new ShadowRefused("a shadow call is refused: " + e.getMessage());
        }
    }

    /** @throws ShadowRefused unless the service is allowed by one of its names; nothing has been sent by then */
    public static void leave(String... names) {
        for (String name : names) {
            if (words().allow.contains(name.toLowerCase(Locale.ROOT))) {
                return;
            }
        }
        String reason = "a shadow call to " + names[0] + " is refused: it is not among the allowed services";
        Log.sometimes("leave", reason);
        throw new ShadowRefused(reason);
    }

    /** {@link #leave} for an HTTP service; the port is the scheme's if it is negative. */
    public static void leave(String scheme, String host, int port) {
        leave(host + ':' + (port >= 0 ? port : "https".equalsIgnoreCase(scheme) ? 443 : 80), host);
    }

    /** What is wrong with the configuration of mark and allowed services, or null. */
    public static String check() {
        Object allow = Settings.section("allow");
        return !Baggage.isToken(words().key) ? "mark.baggage `" + words().key + "` is not a token"
                : allow != null && !(allow instanceof Collection) ? "allow is not a list" : null;
    }

    private static Words words() {
        Words now = words;
        if (now.revision != Settings.revision()) {
            Object allow = Settings.section("allow");
            words = now = new Words(Settings.revision(), allow instanceof Collection ? (Collection<?>) allow : Collections.emptyList());
        }
        return now;
    }

    /** The configuration of one revision. */
    private static final class Words {
        final long revision;
        final String key = Settings.text("mark", "baggage", "weir.shadow");
        final String[] accept;
        final Set<String> allow = new HashSet<>();

        Words(long revision, Collection<?> allowed) {
            this.revision = revision;
            Object section = Settings.section("mark");
            Object more = section instanceof Map ? ((Map<?, ?>) section).get("accept") : null;
            List<String> names = new ArrayList<>();
            if (more instanceof Collection) {
                ((Collection<?>) more).forEach(name -> names.add(name.toString()));
            }
            accept = names.toArray(new String[0]);
            allowed.forEach(name -> allow.add(name.toString().toLowerCase(Locale.ROOT)));
        }
    }
}
