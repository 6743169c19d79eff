package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ConstantDescs;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The constructor of {@link NativeResource} enters the object into the ledger, and audits of other threads look at what is
 * there. What a constructor sets after that, they may find unset. Such a look falls into the gap by chance only, so the
 * class files are asked.
 */
class WholeBeforeShownTests {

    @Test
    void fieldsAreSetBeforeTheObjectIsInTheLedger() throws Exception {
        List<String> late = new ArrayList<>();
        List<String> looked = new ArrayList<>();
        for (Class<?> type : resources()) {
            if (type != NativeResource.class) {
                looked.add(type.getSimpleName());
                late.addAll(setLate(type));
            }
        }
        assertThat(looked).contains("VerbsObject", "QueuePair", "CmId", "EventChannel", "RSocket", "IoMapping");
        assertThat(late).isEmpty();
    }

    @Test
    void aFieldThatIsSetLateIsFound() throws Exception {
        assertThat(setLate(Late.class)).containsExactly("Late.byConstructor", "Late.byInitializer", "Late.changing");
    }

    private static List<String> setLate(Class<?> type) throws IOException {
        ClassModel model = parse(type);
        String parent = model.superclass().orElseThrow().asInternalName();
        List<String> late = new ArrayList<>();
        for (MethodModel method : model.methods()) {
            if (method.methodName().equalsString(ConstantDescs.INIT_NAME)) {
                boolean shown = false;
                for (CodeElement element :
                        method.code().map(CodeModel::elementList).orElse(List.of())) {
                    if (element instanceof InvokeInstruction call
                            && call.opcode() == Opcode.INVOKESPECIAL
                            && call.name().equalsString(ConstantDescs.INIT_NAME)
                            && call.owner().asInternalName().equals(parent)) {
                        shown = true;
                    } else if (shown
                            && element instanceof FieldInstruction field
                            && field.opcode() == Opcode.PUTFIELD) {
                        late.add(type.getSimpleName() + "." + field.name().stringValue());
                    }
                }
            }
        }
        late.sort(null);
        return late;
    }

    private static ClassModel parse(Class<?> type) throws IOException {
        String name = type.getName().substring(type.getPackageName().length() + 1) + ".class";
        try (var bytes = type.getResourceAsStream(name)) {
            return ClassFile.of().parse(bytes.readAllBytes());
        }
    }

    private static List<Class<?>> resources() throws IOException, URISyntaxException {
        URL home = NativeResource.class.getProtectionDomain().getCodeSource().getLocation();
        Path root = Path.of(home.toURI());
        try (Stream<Path> files = Files.walk(root)) {
            return files.map(file -> root.relativize(file).toString())
                    .filter(name -> name.endsWith(".class") && !name.endsWith("-info.class"))
                    // Of the bindings there are hundreds, and none is a resource.
                    .filter(name -> !name.startsWith("io/rdmatest/ffi/"))
                    .map(name ->
                            name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                    .<Class<?>>map(WholeBeforeShownTests::load)
                    .filter(NativeResource.class::isAssignableFrom)
                    .toList();
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, WholeBeforeShownTests.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What the test must find. */
    private static final class Late extends NativeResource {

        private final Object early;
        private final Object byConstructor;
        private final List<Object> byInitializer = new ArrayList<>();
        private volatile int changing = 1;

        Late() {
            this.early = new Object();
            super("late");
            this.byConstructor = new Object();
        }

        @Override
        protected void release() {}

        @Override
        public String describe() {
            return "late " + early + byConstructor + byInitializer + changing;
        }
    }
}
