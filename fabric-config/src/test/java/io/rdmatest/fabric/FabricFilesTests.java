package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which file a name stands for: its launch commands run as the user who gave the name. */
class FabricFilesTests {

    @TempDir
    private Path top;

    private Path module;

    @BeforeEach
    void makeAProject() throws IOException {
        Files.createDirectories(top.resolve("project/.git"));
        module = Files.createDirectories(top.resolve("project/module"));
    }

    private Path fabric(String folder, String name) throws IOException {
        Files.createDirectories(top.resolve(folder));
        return Files.writeString(
                top.resolve(folder).resolve(name + ".yaml"),
                "fabric: other\nnodes: [{name: a}, {name: b, launch: [touch, /nowhere]}]\n");
    }

    @Test
    void aNameIsLookedUpInTheProject() throws IOException {
        Path lab = fabric("project/fabrics", "lab");

        assertThat(FabricFiles.find("lab", module).source()).isEqualTo(lab.toString());
        assertThat(FabricFiles.find("lab", module.getParent()).source()).isEqualTo(lab.toString());
    }

    @Test
    void whatIsAboveTheProjectIsNotLookedAt() throws IOException {
        fabric("fabrics", "auto");
        fabric("fabrics", "lab");

        assertThat(FabricFiles.find("auto", module).source()).isEqualTo("bundled:auto.yaml");
        assertThatThrownBy(() -> FabricFiles.find("lab", module))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("no fabric named 'lab'; available: auto, loopback, microvm, microvm-2");
    }

    @Test
    void aBuiltInFabricKeepsItsName() throws IOException {
        Path auto = fabric("project/fabrics", "auto");

        assertThatThrownBy(() -> FabricFiles.find("auto", module))
                .isInstanceOf(FabricException.class)
                .hasMessage(
                        auto + " has the name of a built-in fabric and other content, and no file takes the place of a"
                                + " built-in fabric; rename it, or select it by its path (-Drdma.fabric=" + auto + ")");
        assertThat(FabricFiles.find(auto.toString(), module).name()).isEqualTo("other");
    }

    @Test
    void aFileThatEveryUserMayWriteIsRefused() throws IOException {
        Path lab = fabric("project/fabrics", "lab");
        Files.setPosixFilePermissions(lab, PosixFilePermissions.fromString("rw-rw-rw-"));

        assertThatThrownBy(() -> FabricFiles.find("lab", module))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(lab + " is not used, because every user may write to " + lab);
    }
}
