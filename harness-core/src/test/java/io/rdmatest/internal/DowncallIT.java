package io.rdmatest.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.rdmatest.ffi.ibv_context_ops;
import io.rdmatest.ffi.ibv_cq_ex;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Needs the native libraries: the generated bindings look their symbols up before they give a descriptor. */
@Timeout(120)
class DowncallIT {

    private static final List<String> HOLDERS = List.of(
            "io.rdmatest.verbs.Verbs",
            "io.rdmatest.cm.Rdmacm",
            "io.rdmatest.rsocket.RCalls",
            "io.rdmatest.internal.Libc");

    /** Of a variadic function the bindings know the fixed arguments only; the others are not in the header at all. */
    private static final Set<String> WITHOUT_BINDING = Set.of(
            "bind",
            "close",
            "eventfd",
            "fcntl",
            "gai_strerror",
            "getpagesize",
            "getsockopt",
            "gettid",
            "lseek",
            "mmap",
            "munmap",
            "open",
            "read",
            "recv",
            "rfcntl",
            "send",
            "setsockopt",
            "sigaction",
            "socket",
            "syscall",
            "tgkill",
            "timerfd_create",
            "timerfd_settime",
            "write");

    @BeforeAll
    static void load() {
        NativeCalls.requireLibraries();
    }

    @Test
    void descriptorsAreThoseOfTheGeneratedBindings() throws Exception {
        Map<String, FunctionDescriptor> written = new TreeMap<>();
        Map<String, FunctionDescriptor> generated = new TreeMap<>();
        for (Downcall call : all()) {
            if (!WITHOUT_BINDING.contains(call.function())) {
                written.put(call.function(), call.descriptor());
                generated.put(call.function(), generated(call.function()));
            }
        }
        assertThat(written).containsKeys("ibv_alloc_pd", "query_port", "rdma_connect", "rsocket", "poll", "getrlimit");
        assertThat(written).isEqualTo(generated);
    }

    @Test
    void theInstalledLibrariesHaveAllFunctions() throws Exception {
        for (Downcall call : all()) {
            if (pointer(call.function()).isEmpty()) {
                assertThat(call.isPresent()).as(call.function()).isTrue();
            }
            assertThat(call.handle().type().returnType())
                    .as(call.function())
                    .isEqualTo(call.descriptor().toMethodType().returnType());
        }
    }

    @Test
    void aFunctionThatIsNotThereIsNamed() {
        Downcall call = Downcall.of("rdma_fly", ValueLayout.JAVA_INT);
        assertThat(call.isPresent()).isFalse();
        assertThatIllegalStateException().isThrownBy(call::handle).withMessageContaining("rdma_fly");
    }

    /** Returns the binding of a pointer to a function; empty if it is a function of a library. */
    private static Optional<Class<?>> pointer(String function) {
        return Stream.of(verbs_context.class, ibv_context_ops.class, ibv_cq_ex.class)
                .flatMap(struct -> Arrays.stream(struct.getDeclaredClasses()))
                .filter(pointers -> pointers.getSimpleName().equals(function))
                .<Class<?>>map(pointers -> pointers)
                .findFirst();
    }

    private static FunctionDescriptor generated(String function) throws ReflectiveOperationException {
        Optional<Class<?>> pointer = pointer(function);
        if (pointer.isPresent()) {
            return (FunctionDescriptor) pointer.get().getMethod("descriptor").invoke(null);
        }
        return (FunctionDescriptor)
                rdma_h.class.getMethod(function + "$descriptor").invoke(null);
    }

    private static List<Downcall> all() throws ReflectiveOperationException {
        List<Downcall> calls = new ArrayList<>();
        for (String holder : HOLDERS) {
            for (Field field : Class.forName(holder).getDeclaredFields()) {
                if (field.getType() == Downcall.class) {
                    assertThat(Modifier.isStatic(field.getModifiers())).isTrue();
                    field.setAccessible(true);
                    calls.add((Downcall) field.get(null));
                }
            }
        }
        return calls;
    }
}
