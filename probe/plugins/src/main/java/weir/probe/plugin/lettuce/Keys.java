package weir.probe.plugin.lettuce;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Where a command has its keys: first, last and step, as Redis's {@code COMMAND INFO} tells them, counted from the first
 * argument. Written down and not asked for, so that an unknown server adds no command; what is not here is refused.
 */
final class Keys {
    private static final String[] TABLE = {
        "1 1 1: APPEND BITCOUNT BITFIELD BITFIELD_RO BITPOS DECR DECRBY DUMP EXPIRE EXPIREAT EXPIRETIME GEOADD GEODIST GEOHASH GEOPOS "
                + "GEOSEARCH GET GETBIT GETDEL GETEX GETRANGE GETSET HDEL HEXISTS HEXPIRE HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN "
                + "HMGET HMSET HPERSIST HPEXPIRE HPTTL HRANDFIELD HSCAN HSET HSETNX HSTRLEN HTTL HVALS INCR INCRBY INCRBYFLOAT LINDEX "
                + "LINSERT LLEN LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PFADD PSETEX PTTL "
                + "PUBLISH RESTORE RPOP RPUSH RPUSHX SADD SCARD SET SETBIT SETEX SETNX SETRANGE SISMEMBER SMEMBERS SMISMEMBER SPOP "
                + "SRANDMEMBER SREM SSCAN STRLEN SUBSTR TTL TYPE XACK XADD XAUTOCLAIM XCLAIM XDEL XLEN XPENDING XRANGE XREVRANGE XTRIM "
                + "ZADD ZCARD ZCOUNT ZINCRBY ZLEXCOUNT ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREM "
                + "ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE",
        "1 -1 1: DEL EXISTS MGET PFCOUNT PFMERGE SDIFF SDIFFSTORE SINTER SINTERSTORE SUNION SUNIONSTORE TOUCH UNLINK WATCH",
        "1 -1 2: MSET MSETNX",
        "1 -2 1: BLPOP BRPOP BZPOPMAX BZPOPMIN",
        "1 2 1: BLMOVE BRPOPLPUSH COPY GEOSEARCHSTORE LMOVE RENAME RENAMENX RPOPLPUSH SMOVE ZRANGESTORE",
        "2 -1 1: BITOP",
        "2 2 1: XGROUP XINFO OBJECT", // a subcommand comes first
        "0 0 0: PING ECHO TIME MULTI EXEC DISCARD UNWATCH", // no keys
    };

    private static final Map<String, int[]> POSITIONS = new HashMap<>();

    static {
        for (String row : TABLE) {
            String[] parts = row.split(": ");
            String[] numbers = parts[0].split(" ");
            int[] positions = {Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]), Integer.parseInt(numbers[2])};
            for (String command : parts[1].split(" ")) {
                POSITIONS.put(command, positions);
            }
        }
        // A destination, then a number of keys and the keys themselves; or only the latter.
        for (String command : "ZDIFFSTORE ZINTERSTORE ZUNIONSTORE".split(" ")) {
            POSITIONS.put(command, new int[] {1, 2, -1});
        }
        for (String command : "LMPOP SINTERCARD ZDIFF ZINTER ZINTERCARD ZMPOP ZUNION".split(" ")) {
            POSITIONS.put(command, new int[] {0, 1, -1});
        }
        for (String command : "BLMPOP BZMPOP".split(" ")) {
            POSITIONS.put(command, new int[] {0, 2, -1});
        }
    }

    private Keys() {}

    /** For each argument whether it is a key; null if the command's keys are unknown. */
    static boolean[] of(String command, List<byte[]> arguments) {
        boolean[] keys = new boolean[arguments.size()];
        String name = command.toUpperCase(Locale.ROOT);
        if (name.equals("XREAD") || name.equals("XREADGROUP")) {
            int streams = 0;
            while (streams < keys.length && !text(arguments.get(streams)).equalsIgnoreCase("STREAMS")) {
                // GROUP is followed by names, and a group may be called "streams"
                streams += text(arguments.get(streams)).equalsIgnoreCase("GROUP") ? 3 : 1;
            }
            int count = (keys.length - streams - 1) / 2;
            return streams < keys.length && fill(keys, streams + 2, streams + 1 + count, 1) ? keys : null;
        }
        int[] at = POSITIONS.get(name);
        if (at == null) {
            return null;
        }
        if (at[2] < 0) {
            if (at[1] > keys.length || !text(arguments.get(at[1] - 1)).matches("\\d{1,6}")) {
                return null;
            }
            int count = Integer.parseInt(text(arguments.get(at[1] - 1)));
            return (at[0] == 0 || fill(keys, at[0], at[0], 1)) && fill(keys, at[1] + 1, at[1] + count, 1) ? keys : null;
        }
        return at[0] == 0 || fill(keys, at[0], at[1] < 0 ? keys.length + 1 + at[1] : at[1], at[2]) ? keys : null;
    }

    /** False if there is no such argument. */
    private static boolean fill(boolean[] keys, int first, int last, int step) {
        if (first > last || last > keys.length) {
            return false;
        }
        for (int i = first; i <= last; i += step) {
            keys[i - 1] = true;
        }
        return true;
    }

    private static String text(byte[] argument) {
        return new String(argument, StandardCharsets.ISO_8859_1);
    }
}
