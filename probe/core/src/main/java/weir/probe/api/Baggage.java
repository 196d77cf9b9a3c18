package weir.probe.api;

/**
 * W3C Baggage as a string: one member read, one written, all others left byte for byte as they are. A comma ends a
 * member whatever surrounds it, so a broken neighbour hides no member. Work is linear in the header's length and
 * allocates nothing unless the key is there.
 */
public final class Baggage {
    /** Name of the header, and of the attachment in RPC. */
    public static final String HEADER = "baggage";
    /** W3C Baggage, section 3.3.2: what every participant has to pass on. */
    static final int MAX_BYTES = 8192;
    static final int MAX_MEMBERS = 64;
    /** Bound on the value that becomes a mark, far below the header's own. */
    static final int MAX_VALUE = 256;

    private Baggage() {}

    /**
     * The value of a member, not percent-decoded, without its properties; null if no member has the key.
     *
     * @param header all header lines, joined by commas
     * @throws IllegalArgumentException if the member is there but its value is empty, too long or outside the grammar,
     *         if it is there twice with different values, or in a header longer than the standard lets anybody rely on
     */
    public static String get(String header, String key) {
        String found = null;
        for (int at = header.indexOf(key); at >= 0; at = header.indexOf(key, at + key.length())) {
            int after = skipSpace(header, at + key.length());
            if (!begins(header, at) || after < header.length() && "=;,".indexOf(header.charAt(after)) < 0) {
                continue; // part of another key or of a value
            }
            check(header.length() <= MAX_BYTES, key, "in baggage of more than " + MAX_BYTES + " bytes");
            String value = value(header, key, after);
            check(found == null || found.equals(value), key, "there twice with different values");
            found = value;
        }
        return found;
    }

    /**
     * The header with the member set, before the others: those at the end are the first to be lost where a proxy
     * shortens it.
     *
     * @param header what is there, null or empty if nothing
     * @throws IllegalArgumentException if the result would pass the limits of the standard
     */
    public static String put(String header, String key, String value) {
        StringBuilder out = new StringBuilder(key).append('=').append(value);
        int members = 1;
        int end;
        for (int at = 0; header != null && at <= header.length(); at = end + 1) {
            end = header.indexOf(',', at);
            end = end < 0 ? header.length() : end;
            int start = skipSpace(header, at);
            if (start >= end || isKey(header, start, end, key)) {
                continue;
            }
            out.append(',').append(header, at, end);
            members++;
        }
        check(members <= MAX_MEMBERS && out.length() <= MAX_BYTES, key,
                "too much: baggage may hold " + MAX_MEMBERS + " members and " + MAX_BYTES + " bytes");
        return out.toString();
    }

    /** Whether a string may be a key: a token of RFC 9110. */
    public static boolean isToken(String text) {
        return !text.isEmpty() && text.chars().allMatch(c -> c < 128 && (Character.isLetterOrDigit(c) || "!#$%&'*+-.^_`|~".indexOf(c) >= 0));
    }

    private static String value(String header, String key, int equals) {
        check(equals < header.length() && header.charAt(equals) == '=', key, "without a value");
        int start = skipSpace(header, equals + 1);
        int end = start;
        while (end < header.length() && header.charAt(end) != ',' && header.charAt(end) != ';') {
            end++;
        }
        while (end > start && isSpace(header.charAt(end - 1))) {
            end--;
        }
        check(end > start && end - start <= MAX_VALUE, key, "empty or longer than " + MAX_VALUE + " bytes");
        for (int i = start; i < end; i++) {
            char c = header.charAt(i);
            check(c > ' ' && c < 127 && c != '"' && c != '\\', key, "not of the characters that baggage allows");
        }
        return header.substring(start, end);
    }

    private static boolean begins(String header, int at) {
        int before = at - 1;
        while (before >= 0 && isSpace(header.charAt(before))) {
            before--;
        }
        return before < 0 || header.charAt(before) == ',';
    }

    private static boolean isKey(String header, int start, int end, String key) {
        int after = start + key.length();
        if (!header.startsWith(key, start) || after > end) {
            return false;
        }
        after = skipSpace(header, after);
        return after >= end || header.charAt(after) == '=' || header.charAt(after) == ';';
    }

    private static int skipSpace(String header, int at) {
        while (at < header.length() && isSpace(header.charAt(at))) {
            at++;
        }
        return at;
    }

    private static boolean isSpace(char c) {
        return c == ' ' || c == '\t';
    }

    private static void check(boolean holds, String key, String problem) {
        if (!holds) {
            throw new IllegalArgumentException("the mark `" + key + "` is " + problem);
        }
    }
}
