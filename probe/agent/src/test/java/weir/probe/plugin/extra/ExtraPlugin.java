package weir.probe.plugin.extra;

import java.util.Collections;
import java.util.List;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/** A plugin that is not in the agent's jar. */
public final class ExtraPlugin implements Plugin {
    @Override
    public String name() {
        return "extra";
    }

    @Override
    public String library() {
        return "a service of the tests";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        return Collections.singletonList(JoinPoint.result("price", "weir.probe.agent.OwnPluginTest$Service#price()I", "ExtraPlugin$Handler.price"));
    }

    /** The handler, which has a class beside it in the jar. */
    public static final class Handler {
        public static int price(int business) {
            return business + Discount.VALUE.length();
        }
    }

    static final class Discount {
        static final String VALUE = new String("four");
    }
}
