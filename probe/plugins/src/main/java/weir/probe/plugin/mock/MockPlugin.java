package weir.probe.plugin.mock;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import weir.probe.api.JoinPoint;
import weir.probe.api.Plugin;

/**
 * Returns a given value for a method, to shadow traffic. One join point for each entry of {@code shadow.mock}, a list of
 * {@code {"class", "method", "return"}}; {@code method} may have a descriptor. Values can be changed while the probe runs,
 * methods need another start.
 */
public final class MockPlugin implements Plugin {
    @Override
    public String name() {
        return "mock";
    }

    @Override
    public String library() {
        return "any class";
    }

    @Override
    public Role role() {
        return Role.MIDDLEWARE;
    }

    @Override
    public List<JoinPoint> joinPoints() {
        List<JoinPoint> points = new ArrayList<>();
        for (Map<?, ?> entry : Entry.all()) {
            String target = Entry.target(entry);
            points.add(JoinPoint.enter(target, target, "Returned.value").constant(target));
        }
        return points;
    }

    @Override
    public String check() {
        return "Returned";
    }
}
