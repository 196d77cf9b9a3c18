package weir.peer.linkagent;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.instrument.Instrumentation;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.agent.builder.AgentBuilder.RedefinitionStrategy;
import net.bytebuddy.agent.builder.ResettableClassFileTransformer;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.Advice.AllArguments;
import net.bytebuddy.asm.Advice.Enter;
import net.bytebuddy.asm.Advice.Local;
import net.bytebuddy.asm.Advice.OnNonDefaultValue;
import net.bytebuddy.asm.Advice.Origin;
import net.bytebuddy.asm.Advice.Return;
import net.bytebuddy.asm.Advice.This;
import net.bytebuddy.asm.Advice.Thrown;
import net.bytebuddy.implementation.bytecode.assign.Assigner.Typing;

/**
 * LinkAgent before and after its optimisation, written anew after the public repository
 * (shulieTech/LinkAgent, commits 52a29eba and 82e4c8c6). What costs is kept: all arguments in an array, one static
 * entry for all join points, a chain of a processor, events, advices and stacks in thread-locals down to the listener,
 * reflection on the application's classes. Left out: plugins of middleware that the shop does not need for its mark,
 * traces, configuration.
 */
public final class Agent {
  private Agent() {}

  public static void premain(String mode, Instrumentation instrumentation) {
    install(mode, instrumentation);
  }

  static ResettableClassFileTransformer install(String mode, Instrumentation instrumentation) {
    if (!"before".equals(mode) && !"after".equals(mode)) {
      throw new IllegalArgumentException("linkagent: the argument is 'before' or 'after', not " + mode);
    }
    boolean optimised = mode.equals("after");
    Messager.start(new Handler(), optimised);
    AgentBuilder builder =
        new AgentBuilder.Default()
            .disableClassFormatChanges()
            .with(RedefinitionStrategy.RETRANSFORMATION)
            .with(AgentBuilder.Listener.StreamWriting.toSystemError().withErrorsOnly());
    for (Point point : Point.values()) {
      if (point.optimised == null || point.optimised == optimised) {
        Messager.handler().activate(point.ordinal(), point.listener);
        builder =
            builder
                .type(named(point.type))
                .transform(
                    (type, description, loader, module, domain) ->
                        type.visit(
                            Advice.withCustomMapping()
                                .bind(Id.class, point.ordinal())
                                .bind(Tag.class, point.tag)
                                .to(Woven.class)
                                .on(named(point.method).and(takesArguments(point.arguments)))));
      }
    }
    return builder.installOn(instrumentation);
  }

  /** The join points; {@code optimised} is null where there is one in both modes. */
  private enum Point {
    SERVLET(null, "javax.servlet.http.HttpServlet", "service", 2, 0, new Carriers.Servlet()),
    CONSUMER(null, "org.apache.dubbo.rpc.protocol.AbstractInvoker", "invoke", 1, Messager.SHADOW_ONLY,
        new Carriers.Consumer()),
    PROVIDER(null, "org.apache.dubbo.rpc.proxy.AbstractProxyInvoker", "invoke", 1, 0, new Carriers.Provider()),
    REGISTER(false, "ch.qos.logback.core.spi.AppenderAttachableImpl", "appendLoopOnAppenders", 1, 0,
        new LogbackBefore.Register()),
    ROUTE(false, "ch.qos.logback.core.UnsynchronizedAppenderBase", "doAppend", 1, 0, new LogbackBefore.Route()),
    ASYNC(false, "ch.qos.logback.core.AsyncAppenderBase", "append", 1, 0, new LogbackBefore.MarkEvent()),
    LOG(true, "ch.qos.logback.core.spi.AppenderAttachableImpl", "appendLoopOnAppenders", 1, Messager.SHADOW_ONLY,
        new LogbackAfter());

    final Boolean optimised;
    final String type;
    final String method;
    final int arguments;
    final int tag;
    final Listener listener;

    Point(Boolean optimised, String type, String method, int arguments, int tag, Listener listener) {
      this.optimised = optimised;
      this.type = type;
      this.method = method;
      this.arguments = arguments;
      this.tag = tag;
      this.listener = listener;
    }
  }

  @Retention(RetentionPolicy.RUNTIME)
  @interface Id {}

  @Retention(RetentionPolicy.RUNTIME)
  @interface Tag {}

  /** The code that goes into the methods. */
  static final class Woven {
    @Advice.OnMethodEnter(skipOn = OnNonDefaultValue.class)
    static Result enter(
        @Id int id,
        @Tag int listenerTag,
        @AllArguments Object[] arguments,
        @Origin Class<?> type,
        @Origin("#m") String method,
        @Origin("#d") String descriptor,
        @This Object target,
        @Local("tag") int tag)
        throws Throwable {
      tag = Messager.executionTag(listenerTag);
      return Messager.onBefore(arguments, id, tag, type, method, descriptor, target);
    }

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(
        @Id int id,
        @Origin Class<?> type,
        @Local("tag") int tag,
        @Enter Result result,
        @Return(typing = Typing.DYNAMIC) Object value,
        @Thrown Throwable thrown)
        throws Throwable {
      if (result != null) {
        return;
      }
      if (thrown == null) {
        Messager.onReturn(value, type, id, tag);
      } else {
        Messager.onThrows(thrown, type, id, tag);
      }
    }
  }
}
