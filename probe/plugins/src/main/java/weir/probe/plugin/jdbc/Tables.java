package weir.probe.plugin.jdbc;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import weir.probe.boot.ShadowRefused;

/**
 * Rewrites statements to shadow tables. A tokenizer and a table of clauses rather than a parser for each dialect: what
 * they cannot place is refused, so a statement that passes names shadow tables alone. Functions and triggers that write
 * are not seen; a name in a literal ({@code nextval('orders_id_seq')}) stays.
 */
final class Tables {
    /** Longer statements are refused. */
    private static final int LIMIT_CHARS = 1 << 20;

    private static final Pattern TOKEN = Pattern.compile("(?<skip>\\s++|--(?=\\s|\\z)[^\\n\\r]*+(?=\\r?\\n|\\z)|/\\*(?!M?!)(?:[^*/]|\\*(?!/)|/(?!\\*))*+\\*/)"
            + "|(?<literal>'(?:[^'\\\\]|''|\\\\[^'])*+'|\\$(?<tag>\\w*)\\$(?s:.*?)\\$\\k<tag>\\$)"
            + "|(?<name>\"(?:[^\"\\\\]|\"\")*+\"|`[^`]*+`|[\\p{L}_][\\p{L}\\p{N}_$]*+)"
            + "|(?<other>/\\*!\\d*+|(?:0[xX]\\p{XDigit}++|\\d++(?:\\.\\d++)?(?:[eE][+-]?\\d++)?)(?!\\w)|::|#>>?|\\$\\d++|-(?!-)|/(?!\\*)|[^-/\\d'\"`#\\s])");

    private static final Set<String> REWRITTEN = set("SELECT INSERT UPDATE DELETE MERGE REPLACE WITH TRUNCATE VALUES");
    private static final Set<String> PASSED = set("SET SHOW BEGIN START COMMIT ROLLBACK SAVEPOINT RELEASE");
    /** Words in one of these, but SHOW, that reach beyond the connection. */
    private static final Set<String> OUTSIDE = set("GLOBAL PERSIST PERSIST_ONLY PASSWORD PREPARED REPLICA SLAVE GROUP_REPLICATION");
    /** Words between a clause and its table. */
    private static final Set<String> MODIFIERS = set("ONLY LATERAL IGNORE LOW_PRIORITY DELAYED QUICK TABLE INTO FROM");
    private static final Set<String> END_OF_FROM = set("WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH UNION INTERSECT EXCEPT SET "
            + "VALUES SELECT RETURNING WINDOW");
    /** Functions with FROM among their arguments. */
    private static final Set<String> FROM_WITHIN = set("EXTRACT SUBSTRING TRIM OVERLAY POSITION");
    /** Words after which UPDATE, INSERT and DELETE begin no statement of their own. */
    private static final Set<String> NO_VERB = set("FOR KEY DO THEN ON OR BEFORE AFTER");
    private static final Set<String> CATALOGS = set("INFORMATION_SCHEMA PG_CATALOG");

    private final Set<String> tables;
    private final String suffix;

    /** @param tables names in lower case of the tables that have a shadow table */
    Tables(Set<String> tables, String suffix) {
        this.tables = tables;
        this.suffix = suffix;
    }

    private enum Expect { NOTHING, SOURCE, TARGET }

    private static final class Level {
        boolean from;
        boolean function;
    }

    private static final class Token {
        final String text;
        final String upper;
        final boolean isName;
        final int end;

        Token(String text, boolean isName, int end) {
            this.text = text;
            this.upper = text.toUpperCase(Locale.ROOT);
            this.isName = isName;
            this.end = end;
        }

        String plain() {
            return text.charAt(0) == '"' || text.charAt(0) == '`' ? text.substring(1, text.length() - 1) : text;
        }
    }

    /** @throws ShadowRefused if a table has no shadow table or the statement is not understood */
    String rewrite(String sql) {
        return new Statement(sql).rewrite();
    }

    private final class Statement {
        private final String sql;
        private final List<Token> tokens;
        private final Set<String> subqueries = new HashSet<>();
        private final StringBuilder out = new StringBuilder();
        private final Deque<Level> levels = new ArrayDeque<>();
        private int copied;

        Statement(String sql) {
            this.sql = sql;
            tokens = tokens(sql);
            for (int i = 1; i < tokens.size(); i++) {
                if (at(i).equals("AS") && (at(i + 1).equals("(") || at(i + 1).matches("NOT|MATERIALIZED"))) {
                    int name = i - 1;
                    while (at(i - 1).equals(")") && name > 0 && !at(name).equals("(")) {
                        name--;
                    }
                    name -= at(i - 1).equals(")") ? 1 : 0;
                    if (name > 0 && at(name - 1).matches("WITH|RECURSIVE|,")) {
                        String text = tokens.get(name).plain().toLowerCase(Locale.ROOT);
                        refuseIf(tables.contains(text), "a subquery hides the table " + text);
                        subqueries.add(text);
                    }
                }
            }
        }

        String rewrite() {
            boolean start = true;
            Expect expect = Expect.NOTHING;
            levels.push(new Level());
            for (int i = 0; i < tokens.size(); i++) {
                String word = at(i);
                if (start && !word.equals("(") && !word.equals(";")) {
                    if (PASSED.contains(word)) {
                        while (i + 1 < tokens.size() && !at(i + 1).equals(";")) {
                            i++;
                            refuseIf(at(i).equals("(") || REWRITTEN.contains(at(i)) && !at(i).equals("WITH")
                                    || OUTSIDE.contains(at(i)) && !word.equals("SHOW"), word + " with " + at(i));
                        }
                        continue;
                    }
                    refuseIf(!REWRITTEN.contains(word), "a statement that begins with " + word);
                    start = false;
                    if (word.equals("TRUNCATE") || word.equals("REPLACE")) {
                        levels.peek().from = word.equals("TRUNCATE");
                        refuseIf(word.equals("REPLACE") && !at(i + 1).equals("INTO"), "REPLACE without INTO");
                        expect = Expect.TARGET;
                        continue;
                    }
                }
                if (expect != Expect.NOTHING && !(MODIFIERS.contains(word) && !at(i + 1).matches("[.,;)]|"))) {
                    if (word.equals("(")) {
                        refuseIf(expect == Expect.TARGET, "a table in parentheses");
                        levels.push(new Level());
                        boolean query = at(i + 1).matches("SELECT|WITH|VALUES|TABLE");
                        levels.peek().from = !query;
                        expect = query ? Expect.NOTHING : Expect.SOURCE;
                    } else {
                        i = table(i, expect);
                        expect = Expect.NOTHING;
                    }
                    continue;
                }
                if (expect != Expect.NOTHING) {
                    continue;
                }
                Expect clause = clause(i, word);
                if (clause != Expect.NOTHING) {
                    expect = clause;
                } else if (word.equals(";")) {
                    refuseIf(!subqueries.isEmpty() && i + 1 < tokens.size(), "a named subquery beside another statement");
                    start = true;
                    levels.clear();
                    levels.push(new Level());
                } else if (word.equals("(")) {
                    Level level = new Level();
                    level.function = i > 0 && FROM_WITHIN.contains(at(i - 1));
                    levels.push(level);
                } else if (word.equals(")")) {
                    levels.pop();
                    refuseIf(levels.isEmpty(), "unbalanced parentheses");
                } else if (END_OF_FROM.contains(word)) {
                    levels.peek().from = false;
                } else if (tokens.get(i).isName) {
                    i = reference(i);
                }
            }
            refuseIf(expect != Expect.NOTHING, "a clause without its table");
            return out.append(sql, copied, sql.length()).toString();
        }

        /** What a word makes of the next: the table that is read or written. */
        private Expect clause(int i, String word) {
            String before = i == 0 ? "" : at(i - 1);
            String next = at(i + 1);
            Level level = levels.peek();
            switch (word) {
                case "FROM":
                    if (level.function || before.equals("DISTINCT") && at(i - 2).matches("IS|NOT")) {
                        return Expect.NOTHING;
                    }
                    level.from = true;
                    return Expect.SOURCE;
                case ",":
                    return level.from ? Expect.SOURCE : Expect.NOTHING;
                case "JOIN":
                case "STRAIGHT_JOIN":
                case "TABLE":
                    return Expect.SOURCE;
                case "USING":
                    return next.equals("(") && !at(i + 2).equals("SELECT") ? Expect.NOTHING : Expect.SOURCE;
                case "OF":
                    return before.matches("UPDATE|SHARE") ? Expect.SOURCE : Expect.NOTHING;
                case "INTO":
                    return Expect.TARGET;
                case "UPDATE":
                    if (NO_VERB.contains(before)) {
                        return Expect.NOTHING;
                    }
                    level.from = true; // others may follow, until SET
                    return Expect.TARGET;
                case "INSERT":
                case "MERGE":
                case "DELETE":
                    if (NO_VERB.contains(before)) {
                        return Expect.NOTHING;
                    }
                    boolean delete = word.equals("DELETE");
                    refuseIf(!next.matches(delete ? "FROM" : "INTO|IGNORE|LOW_PRIORITY|DELAYED"), word + " with " + next);
                    level.from = delete; // MySQL deletes from several
                    return Expect.TARGET;
                default:
                    return Expect.NOTHING;
            }
        }

        /** Renames the table that begins at a token; returns its last token. */
        private int table(int first, Expect expect) {
            int last = chain(first);
            Token token = tokens.get(last);
            refuseIf(!tokens.get(first).isName || !token.isName, "no table after a clause but " + tokens.get(first).text);
            String name = token.plain().toLowerCase(Locale.ROOT);
            boolean function = expect == Expect.SOURCE && at(last + 1).equals("(");
            boolean other = first == last && expect == Expect.SOURCE && (subqueries.contains(name) || name.equals("dual"))
                    || expect == Expect.SOURCE && CATALOGS.contains(tokens.get(first).plain().toUpperCase(Locale.ROOT));
            if (!function && !other) {
                refuseIf(!tables.contains(name), "the table " + name + " has no shadow table");
                rename(token);
            }
            return last;
        }

        /** Renames the table that qualifies a column, as in {@code orders.id}; returns the reference's last token. */
        private int reference(int first) {
            int last = chain(first);
            if (last > first && !at(last + 1).equals("(")) {
                Token token = tokens.get(last - 2);
                if (tables.contains(token.plain().toLowerCase(Locale.ROOT))) {
                    rename(token);
                }
            }
            return last;
        }

        private int chain(int first) {
            int last = first;
            while (at(last + 1).equals(".") && last + 2 < tokens.size()
                    && (tokens.get(last + 2).isName || at(last + 2).equals("*"))) {
                last += 2;
            }
            return last;
        }

        private void rename(Token token) {
            int end = token.plain() == token.text ? token.end : token.end - 1; // inside the quotes
            out.append(sql, copied, end);
            char last = token.plain().charAt(token.plain().length() - 1);
            out.append(token.plain() != token.text && Character.isUpperCase(last) ? suffix.toUpperCase(Locale.ROOT) : suffix);
            copied = end;
        }

        private String at(int i) {
            return i < 0 || i >= tokens.size() ? "" : tokens.get(i).upper;
        }
    }

    private static List<Token> tokens(String sql) {
        refuseIf(sql.length() > LIMIT_CHARS, "a statement of more than " + LIMIT_CHARS + " characters");
        List<Token> tokens = new ArrayList<>();
        Matcher matcher = TOKEN.matcher(sql);
        int at = 0;
        for (; at < sql.length() && matcher.find() && matcher.start() == at; at = matcher.end()) {
            if (matcher.group("skip") == null) {
                tokens.add(new Token(matcher.group(), matcher.group("name") != null, at = matcher.end()));
            }
        }
        refuseIf(at < sql.length(), "text that dialects read differently, at character " + at);
        return tokens;
    }

    private static void refuseIf(boolean so, String why) {
        if (so) {
            throw new ShadowRefused("shadow tables: " + why);
        }
    }

    private static Set<String> set(String words) {
        return new HashSet<>(Arrays.asList(words.split(" ")));
    }
}
