package io.rdmatest.junit.engine;

import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.params.ParameterInfo;

/** The parameters of a parameterised test that take their values from its sources, and are nobody else's to resolve. */
public record Taken(Method method, Set<Integer> indices) {

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Taken.class);

    public void keep(ExtensionContext context) {
        context.getStore(NAMESPACE).put(Taken.class, this);
    }

    static boolean is(ParameterContext parameter, ExtensionContext context) {
        Taken taken = context.getStore(NAMESPACE).get(Taken.class, Taken.class);
        if (taken != null
                && taken.method.equals(parameter.getDeclaringExecutable())
                && taken.indices.contains(parameter.getIndex())) {
            return true;
        }
        ParameterInfo seen = null;
        for (Optional<ExtensionContext> current = Optional.of(context);
                current.isPresent();
                current = current.get().getParent()) {
            ParameterInfo info = ParameterInfo.get(current.get());
            if (info != null && info != seen) {
                seen = info;
                if (isArgument(parameter.getParameter(), info)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean isArgument(Parameter parameter, ParameterInfo info) {
        return info.getDeclarations().getAll().stream()
                .anyMatch(declaration -> declaration.getAnnotatedElement().equals(parameter)
                        && declaration.getParameterIndex() < info.getArguments().size());
    }
}
