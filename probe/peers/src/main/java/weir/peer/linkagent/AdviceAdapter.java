package weir.peer.linkagent;

import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Turns events into advices, on a stack for each thread, and calls the listener. */
final class AdviceAdapter {
  private final Listener listener;
  private final ThreadLocal<ArrayDeque<Advice>> stacks = ThreadLocal.withInitial(ArrayDeque::new);
  private final Map<List<Object>, Method> behaviors = new ConcurrentHashMap<>();

  AdviceAdapter(Listener listener) {
    this.listener = listener;
  }

  Advice onEvent(Event event) throws Throwable {
    ArrayDeque<Advice> stack = stacks.get();
    try {
      return event.type == Event.BEFORE ? begin(stack, event) : end(stack, event);
    } finally {
      if (stack.isEmpty()) {
        stacks.remove();
      }
    }
  }

  private Advice begin(ArrayDeque<Advice> stack, Event event) throws Throwable {
    List<Object> key = Arrays.asList(event.owner, event.method, event.descriptor);
    Method behavior = behaviors.computeIfAbsent(key, k -> find(event));
    Advice advice = new Advice(event.invokeId, behavior, event.target, event.arguments);
    advice.applyBefore(stack.peek());
    stack.push(advice);
    listener.before(advice);
    return advice;
  }

  private Advice end(ArrayDeque<Advice> stack, Event event) throws Throwable {
    Advice advice = stack.peek();
    if (advice == null || advice.invokeId != event.invokeId) {
      return null;
    }
    stack.pop();
    if (event.type != Event.IMMEDIATELY_RETURN) {
      listener.after(advice, event.type == Event.RETURN ? event.outcome : null);
    }
    return null;
  }

  private static Method find(Event event) {
    return Arrays.stream(event.owner.getDeclaredMethods())
        .filter(method -> method.getName().equals(event.method))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException(event.owner + " has no method " + event.method));
  }
}
