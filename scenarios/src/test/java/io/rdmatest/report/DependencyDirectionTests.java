package io.rdmatest.report;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameEndingWith;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import com.tngtech.archunit.library.dependencies.SliceRule;
import java.io.IOException;
import java.lang.foreign.Linker;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

@TestInstance(TestInstance.Lifecycle.PER_CLASS) // they share the classes, which take seconds to read
class DependencyDirectionTests {

    private static final String[] CORE = {
        "io.rdmatest",
        "io.rdmatest.ffi..",
        "io.rdmatest.internal..",
        "io.rdmatest.verbs..",
        "io.rdmatest.cm..",
        "io.rdmatest.connect..",
        "io.rdmatest.rsocket..",
        "io.rdmatest.stream..",
        "io.rdmatest.peer..",
        "io.rdmatest.wire.."
    };
    private static final String FABRIC = "io.rdmatest.fabric..";
    private static final String EXTENSION = "io.rdmatest.junit..";
    private static final String SCENARIOS = "io.rdmatest.scenarios..";
    private static final String REPORT = "io.rdmatest.report..";

    private static final String RUN = "io.rdmatest.report.run..";
    private static final String PAGE = "io.rdmatest.report.page..";
    private static final String CULPRITS = "io.rdmatest.report.culprits..";
    private static final String NIGHTS = "io.rdmatest.report.nights..";
    private static final String QUALIFY = "io.rdmatest.scenarios.qualify..";

    private static final String ROLE = "io.rdmatest.scenarios.role..";
    private static final String OPTIONS = "io.rdmatest.scenarios.options..";
    private static final String ENGINE = "io.rdmatest.scenarios.engine..";
    private static final String COMMAND = "io.rdmatest.scenarios.command..";
    private static final String[] PROGRAMS = {
        "io.rdmatest.scenarios.mckey..",
        "io.rdmatest.scenarios.pairs..",
        "io.rdmatest.scenarios.pingpong..",
        "io.rdmatest.scenarios.rping..",
        "io.rdmatest.scenarios.rstream..",
        "io.rdmatest.scenarios.stream..",
        "io.rdmatest.scenarios.ucmatose..",
        "io.rdmatest.scenarios.udaddy.."
    };
    private static final String NODE = "io.rdmatest.scenarios.node..";

    /** What the agent's jar has of the scenarios. */
    private static final String[] AGENT = Stream.concat(
                    Stream.of(ROLE, OPTIONS, ENGINE, COMMAND, NODE), Stream.of(PROGRAMS))
            .toArray(String[]::new);

    private final JavaClasses classes = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.rdmatest");

    @Test
    void theModulesThatTheRulesSpeakOfAreThere() {
        Stream<String> modules = Stream.of("io.rdmatest.ffi", "io.rdmatest.fabric", "io.rdmatest.junit");
        assertThat(classes.stream().map(JavaClass::getPackageName))
                .containsAll(Stream.concat(modules, Stream.of(AGENT).map(name -> name.replaceFirst("\\.\\.$", "")))
                        .toList());
        // The rules below hold only if they could also fail: this side does use both libraries.
        assertThat(catching(noClasses().should().dependOnClassesThat().resideInAPackage("io.qameta.allure..")))
                .isInstanceOf(AssertionError.class);
        assertThat(catching(noClasses().should().dependOnClassesThat().resideInAPackage("org.junit..")))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void theCoreKnowsNothingOfTheOtherModulesNorOfTestFrameworks() {
        noClasses()
                .that()
                .resideInAnyPackage(CORE)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(FABRIC, EXTENSION, SCENARIOS, REPORT, "org.junit..", "io.qameta.allure..")
                .check(classes);
    }

    /**
     * Its functions are called with errno captured in one way. The generated bindings look the RDMA libraries up. Scenarios use the
     * core from outside, and bind what they call themselves.
     */
    @Test
    void oneClassOfTheCoreBindsTheCLibrary() {
        noClasses()
                .that()
                .resideOutsideOfPackages("io.rdmatest.ffi..", SCENARIOS)
                .and()
                .doNotHaveFullyQualifiedName("io.rdmatest.internal.Libc")
                .should()
                .callMethod(Linker.class, "defaultLookup")
                .check(classes);
        assertThat(catching(noClasses().should().callMethod(Linker.class, "defaultLookup")))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("io.rdmatest.internal.Libc");
    }

    @Test
    void fabricsKnowNeitherTheExtensionNorScenarios() {
        noClasses()
                .that()
                .resideInAPackage(FABRIC)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(EXTENSION, SCENARIOS, REPORT)
                .check(classes);
    }

    @Test
    void theExtensionKnowsNoScenarios() {
        noClasses()
                .that()
                .resideInAPackage(EXTENSION)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(SCENARIOS, REPORT)
                .check(classes);
    }

    /** The engine is a service of the extension. Conditions, sources and faults lie above it. */
    @Test
    void theApiOfTheExtensionHidesItsMachinery() {
        knowsOnly(EXTENSION, "io.rdmatest.junit");
        knowsOnly(EXTENSION, "io.rdmatest.junit.engine..", "io.rdmatest.junit");
        // It can fail: a condition does know the machinery.
        assertThatThrownBy(() -> knowsOnly(EXTENSION, "io.rdmatest.junit.condition..", "io.rdmatest.junit"))
                .isInstanceOf(AssertionError.class);
    }

    /** Tests of other projects have other versions of it, or none. */
    @Test
    void whatTestsNeedIsFreeOfJackson() {
        String databind = "com.fasterxml.jackson..";
        noClasses()
                .that()
                .resideInAnyPackage(EXTENSION)
                .or()
                .haveFullyQualifiedName("io.rdmatest.fabric.FabricReader")
                .should()
                .transitivelyDependOnClassesThat()
                .resideInAPackage(databind)
                .check(classes);
        noClasses()
                .that()
                .resideInAnyPackage(CORE)
                .and()
                .resideOutsideOfPackage("io.rdmatest.peer..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(databind)
                .check(classes);
        assertThat(catching(noClasses()
                        .that()
                        .haveFullyQualifiedName("io.rdmatest.fabric.FabricLeaves")
                        .should()
                        .transitivelyDependOnClassesThat()
                        .resideInAPackage(databind)))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void onlyTheReportsKnowAllure() {
        noClasses()
                .that()
                .resideOutsideOfPackage(REPORT)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.qameta.allure..")
                .check(classes);
    }

    /** The results of a run need no device: whoever reads them later has neither a fabric nor its tests. */
    @Test
    void reportsKnowTheCoreOnly() {
        noClasses()
                .that()
                .resideInAPackage(REPORT)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(FABRIC, EXTENSION, SCENARIOS)
                .check(classes);
    }

    /**
     * A wait for a thread returns whether the thread has ended. Whoever asks {@link Thread#isAlive} afterwards may be told the
     * opposite. {@link io.rdmatest.internal.Threads} does not wait.
     */
    @Test
    void whetherAThreadHasEndedIsWhatItsJoinReturned() {
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName("io.rdmatest.internal.Threads")
                .should()
                .callMethod(Thread.class, "isAlive")
                .orShould()
                .callMethod(Thread.class, "join", long.class)
                .check(classes);
        assertThat(catching(noClasses().should().callMethod(Thread.class, "isAlive")))
                .isInstanceOf(AssertionError.class);
    }

    /** Classes know each other in circles, which shows that the rule finds them. */
    @Test
    void packagesOfAModuleAreFreeOfCycles() {
        withoutCycles(JavaClass::getPackageName, CORE).check(classes);
        for (String module : List.of(FABRIC, EXTENSION, SCENARIOS, REPORT)) {
            withoutCycles(JavaClass::getPackageName, module).check(classes);
        }
        assertThat(catching(withoutCycles(JavaClass::getName, REPORT))).isInstanceOf(AssertionError.class);
    }

    private static SliceRule withoutCycles(Function<JavaClass, String> slice, String... module) {
        return slices().assignedFrom(new SliceAssignment() {
                    @Override
                    public SliceIdentifier getIdentifierOf(JavaClass type) {
                        return resideInAnyPackage(module).test(type)
                                ? SliceIdentifier.of(slice.apply(type))
                                : SliceIdentifier.ignore();
                    }

                    @Override
                    public String getDescription() {
                        return "slices of " + List.of(module);
                    }
                })
                .should()
                .beFreeOfCycles();
    }

    /** From the lowest floor up: roles, options, the engine, and what commands share know what is below them only. */
    @Test
    void theEngineKnowsNoProgramNorWhereRolesRun() {
        knowsOnly(SCENARIOS, ROLE);
        knowsOnly(SCENARIOS, OPTIONS, ROLE);
        knowsOnly(SCENARIOS, ENGINE, OPTIONS, ROLE);
        knowsOnly(SCENARIOS, COMMAND, ENGINE, OPTIONS, ROLE);
    }

    /** Cells and their culprits at the bottom, then nights, then the model of a run, which listeners and files know. */
    @Test
    void partsOfTheReportsMeetInTheModelOfTheRun() {
        knowsOnly(REPORT, CULPRITS);
        knowsOnly(REPORT, NIGHTS, CULPRITS);
        knowsOnly(REPORT, RUN, NIGHTS);
        knowsOnly(REPORT, "io.rdmatest.report.listener..", RUN);
        knowsOnly(REPORT, PAGE, RUN, NIGHTS, CULPRITS);
        knowsOnly(REPORT, "io.rdmatest.report.output..", RUN, PAGE, NIGHTS, CULPRITS);
        assertThatThrownBy(() -> knowsOnly(REPORT, PAGE, RUN)).isInstanceOf(AssertionError.class);
    }

    @Test
    void nothingButTheProgramKnowsQualify() {
        noClasses()
                .that()
                .resideOutsideOfPackage(QUALIFY)
                .and()
                .doNotHaveFullyQualifiedName("io.rdmatest.scenarios.cli.Rdmatest")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(QUALIFY)
                .check(classes);
        assertThat(catching(noClasses().should().dependOnClassesThat().resideInAPackage(QUALIFY)))
                .isInstanceOf(AssertionError.class);
    }

    private void knowsOnly(String module, String floor, String... below) {
        noClasses()
                .that()
                .resideInAPackage(floor)
                .should()
                .dependOnClassesThat(resideInAPackage(module)
                        .and(resideOutsideOfPackages(Stream.concat(Stream.of(floor), Stream.of(below))
                                .toArray(String[]::new))))
                .check(classes);
    }

    @Test
    void programsDoNotKnowWhereTheyRun() {
        noClasses()
                .that()
                .resideInAnyPackage(PROGRAMS)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(NODE)
                .check(classes);
    }

    /** Otherwise a role would fail on another node with a class that is missing. */
    @Test
    void whatRunsOnOtherNodesKnowsNothingThatStaysHere() {
        noClasses()
                .that()
                .resideInAnyPackage(AGENT)
                .should()
                .dependOnClassesThat(resideInAPackage(SCENARIOS)
                        .and(resideOutsideOfPackages(AGENT))
                        .or(resideInAnyPackage(EXTENSION, REPORT, "org.junit..")))
                .check(classes);
    }

    /** All pairs are measured over iWARP as well, which has no immediate data; the ping-pong shows that the rule finds it. */
    @Test
    void pairsAreMeasuredWithoutImmediateData() {
        withoutImmediateData("io.rdmatest.scenarios.pairs").check(classes);
        assertThat(catching(withoutImmediateData("io.rdmatest.scenarios.pingpong")))
                .isInstanceOf(AssertionError.class);
    }

    private static ArchRule withoutImmediateData(String scenarios) {
        return noClasses()
                .that()
                .resideInAPackage(scenarios)
                .should()
                .callMethodWhere(target(nameEndingWith("Immediate")));
    }

    @Test
    void theJarOfTheAgentHasThesePackages() throws IOException {
        String build = Files.readString(Path.of("..", "scenarios", "pom.xml"));

        assertThat(Pattern.compile("<include>(io/rdmatest/scenarios/.*?)/\\*\\*</include>")
                        .matcher(build)
                        .results()
                        .map(found -> found.group(1).replace('/', '.') + ".."))
                .containsExactlyInAnyOrder(AGENT);
    }

    private Throwable catching(ArchRule rule) {
        return org.assertj.core.api.Assertions.catchThrowable(() -> rule.check(classes));
    }
}
