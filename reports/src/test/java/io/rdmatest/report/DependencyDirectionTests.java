package io.rdmatest.report;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.util.List;
import org.junit.jupiter.api.Test;

class DependencyDirectionTests {

    private static final String[] CORE = {
        "io.rdmatest",
        "io.rdmatest.ffi..",
        "io.rdmatest.verbs..",
        "io.rdmatest.cm..",
        "io.rdmatest.rsocket..",
        "io.rdmatest.stream..",
        "io.rdmatest.peer.."
    };
    private static final String FABRIC = "io.rdmatest.fabric..";
    private static final String EXTENSION = "io.rdmatest.junit..";
    private static final String SCENARIOS = "io.rdmatest.scenarios..";
    private static final String REPORT = "io.rdmatest.report..";

    private final JavaClasses classes = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("io.rdmatest");

    @Test
    void theModulesThatTheRulesSpeakOfAreThere() {
        for (String module : List.of("io.rdmatest.ffi", "io.rdmatest.fabric", "io.rdmatest.junit")) {
            assertThat(classes.stream().map(JavaClass::getPackageName))
                    .as("classes in " + module)
                    .contains(module);
        }
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

    @Test
    void onlyTheReportsKnowAllureAndNothingKnowsTheReports() {
        noClasses()
                .that()
                .resideOutsideOfPackage(REPORT)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.qameta.allure..", REPORT)
                .check(classes);
    }

    private Throwable catching(ArchRule rule) {
        return org.assertj.core.api.Assertions.catchThrowable(() -> rule.check(classes));
    }
}
