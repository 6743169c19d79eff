package io.rdmatest.junit;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;

final class Provision {
    Provision(ParameterContext parameter, ExtensionContext context) {}

    static boolean supports(ParameterContext parameter) {
        return false;
    }

    Object resolve() {
        throw new IllegalStateException();
    }
}
