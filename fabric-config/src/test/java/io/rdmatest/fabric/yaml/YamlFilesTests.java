package io.rdmatest.fabric.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class YamlFilesTests {

    @TempDir
    private Path top;

    private Path folder(String path) throws IOException {
        return Files.createDirectories(top.resolve(path));
    }

    private Path file(String path) throws IOException {
        Path file = top.resolve(path);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, "fabric: x\n");
    }

    private static void openToAll(Path path) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxrwxrwx"));
    }

    @Test
    void theSearchEndsAtTheRootOfTheProject() throws IOException {
        Path module = folder("project/one/module");
        folder("project/.git");
        file("lab.yaml");

        assertThat(YamlFiles.upwards(module))
                .containsExactly(module, module.getParent(), module.getParent().getParent());
        assertThat(YamlFiles.locate("lab.yaml", module)).isEqualTo(Path.of("lab.yaml"));
        Path own = file("project/lab.yaml");
        assertThat(YamlFiles.locate("lab.yaml", module)).isEqualTo(own);
        file("project/one/module/lab.yaml");
        assertThat(YamlFiles.locate("lab.yaml", module)).isEqualTo(Path.of("lab.yaml"));
    }

    /** The .git of a worktree is a file. */
    @Test
    void eachKindOfRootEndsIt() throws IOException {
        for (String root : new String[] {".git", ".mvn", "settings.gradle", "settings.gradle.kts"}) {
            file(root + "-project/" + root);
            Path module = folder(root + "-project/module");
            assertThat(YamlFiles.upwards(module)).containsExactly(module, module.getParent());
        }
    }

    @Test
    void withoutARootThereAreTheModulesOfOneBuild() throws IOException {
        file("pom.xml");
        file("other/project/pom.xml");
        file("other/project/module/pom.xml");
        Path inside = folder("other/project/module/src");

        assertThat(YamlFiles.upwards(inside))
                .containsExactly(inside, top.resolve("other/project/module"), top.resolve("other/project"));
    }

    @Test
    void withoutAProjectThereIsTheWorkingDirectoryAlone() throws IOException {
        Path alone = folder("some/where");
        file("some/lab.yaml");

        assertThat(YamlFiles.upwards(alone)).containsExactly(alone);
        assertThat(YamlFiles.locate("lab.yaml", alone)).isEqualTo(Path.of("lab.yaml"));
        assertThat(YamlFiles.upwards(Path.of("/"))).containsExactly(Path.of("/"));
    }

    @Test
    void aFolderThatEveryUserMayWriteToIsNoPartOfAProject() throws IOException {
        file("shared/pom.xml");
        folder("shared/.git");
        file("shared/build/pom.xml");
        Path build = folder("shared/build");
        assertThat(YamlFiles.upwards(build)).containsExactly(build, build.getParent());

        openToAll(build.getParent());

        assertThat(YamlFiles.upwards(build)).containsExactly(build);
    }

    @Test
    void aFileThatEveryUserMayWriteIsRefused() throws IOException {
        folder("project/.git");
        Path module = folder("project/module");
        Path lab = file("project/lab/rack.yaml");
        openToAll(lab);
        assertThatThrownBy(() -> YamlFiles.locate("lab/rack.yaml", module))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(lab + " is not used, because every user may write to " + lab
                        + "; correct the owner and the permissions, or check the file and give its whole path");

        Path row = file("project/row/rack.yaml");
        openToAll(row.getParent());
        assertThatThrownBy(() -> YamlFiles.locate("row/rack.yaml", module))
                .hasMessageContaining("every user may write to " + row.getParent());
        assertThat(YamlFiles.locate(lab.toString(), module)).isEqualTo(lab);
    }

    @Test
    void aFileOfAnotherUserIsRefused() {
        Path file = Path.of("lab.yaml");

        assertThat(YamlFiles.refusal(file, 1000, 0100644, List.of(0, 1000))).isEmpty();
        assertThat(YamlFiles.refusal(file, 0, 0100664, List.of(0, 1000))).isEmpty();
        assertThat(YamlFiles.refusal(file, 1001, 0100644, List.of(0, 1000)))
                .isEqualTo("lab.yaml is owned by another user, with the number 1001");
    }
}
