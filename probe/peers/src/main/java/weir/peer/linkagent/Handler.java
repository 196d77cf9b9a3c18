package weir.peer.linkagent;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Finds the processor of a join point, numbers its calls and sends it events. */
class Handler {
  private static final ThreadLocal<ClassLoader> BUSINESS_LOADER = new ThreadLocal<>();
  private static final ThreadLocal<Integer> GUARD = new ThreadLocal<>();

  private final Map<Integer, Processor> processors = new ConcurrentHashMap<>();
  private final AtomicInteger invokeIds = new AtomicInteger(1000);

  /** A join point: its listener, and the calls in progress of each thread. */
  private static final class Processor {
    final AdviceAdapter adapter;
    final ThreadLocal<ArrayDeque<Integer>> stacks = new ThreadLocal<>();
    volatile boolean running = true;

    Processor(Listener listener) {
      adapter = new AdviceAdapter(listener);
    }

    ArrayDeque<Integer> stack() {
      ArrayDeque<Integer> stack = stacks.get();
      if (stack == null) {
        stacks.set(stack = new ArrayDeque<>());
      }
      return stack;
    }

    void cleanIfEmpty() {
      ArrayDeque<Integer> stack = stacks.get();
      if (stack != null && stack.isEmpty()) {
        stacks.remove();
      }
    }
  }

  void activate(int id, Listener listener) {
    processors.put(id, new Processor(listener));
  }

  Result before(int id, Object[] arguments, Class<?> type, String method, String descriptor, Object target)
      throws Throwable {
    Processor processor = processors.get(id);
    if (GUARD.get() != null || processor == null || !processor.running) {
      return null;
    }
    ArrayDeque<Integer> stack = processor.stack();
    try {
      int invokeId = invokeIds.getAndIncrement();
      stack.push(invokeId);
      BUSINESS_LOADER.set(type.getClassLoader());
      try {
        int processId = stack.peekLast();
        Event event =
            new Event(Event.BEFORE, processId, invokeId, type, method, descriptor, target, arguments, null);
        return handle(processor, stack, event);
      } finally {
        BUSINESS_LOADER.remove();
      }
    } finally {
      processor.cleanIfEmpty();
    }
  }

  void end(int id, Class<?> type, Object outcome, int eventType) throws Throwable {
    Processor processor = processors.get(id);
    if (GUARD.get() != null || processor == null || !processor.running) {
      return;
    }
    ArrayDeque<Integer> stack = processor.stack();
    BUSINESS_LOADER.set(type.getClassLoader());
    try {
      if (!stack.isEmpty()) {
        int processId = stack.peekLast();
        handle(processor, stack, new Event(eventType, processId, stack.pop(), outcome));
      }
    } finally {
      BUSINESS_LOADER.remove();
      processor.cleanIfEmpty();
    }
  }

  private Result handle(Processor processor, ArrayDeque<Integer> stack, Event event) throws Throwable {
    try {
      Advice advice = processor.adapter.onEvent(event);
      return advice == null || !advice.isCut() ? null : cut(processor, stack, event, advice.cutResult());
    } catch (ProcessControl control) {
      return cut(processor, stack, event, control.result);
    } catch (Exception e) {
      e.printStackTrace(); // as LinkAgent logs it, and the application goes on
      return null;
    }
  }

  private Result cut(Processor processor, ArrayDeque<Integer> stack, Event event, Object result) throws Throwable {
    processor.adapter.onEvent(new Event(Event.IMMEDIATELY_RETURN, event.processId, event.invokeId, result));
    if (event.type == Event.BEFORE) {
      stack.pop();
    }
    return new Result(result);
  }
}
