package io.rdmatest.scenarios.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmatest.ExitStatus;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Prints how a command ended: text, or with {@code --json} one object on standard output. */
public final class Printer {

    /** What is wrong when standard output takes no more. */
    static final String UNWRITTEN =
            "standard output can't be written: its reader is gone, or there is no space for the file it goes to";

    private final String program;
    private final boolean json;
    private final PrintWriter out;
    private final PrintWriter err;

    public Printer(String program, boolean json, PrintWriter out, PrintWriter err) {
        this.program = program;
        this.json = json;
        this.out = out;
        this.err = err;
    }

    /** Prints what a command reports. An interrupted command reports its progress. */
    ExitStatus success(Outcome outcome, boolean interrupted) {
        boolean failed = outcome.endless() && outcome.status() != ExitStatus.VERIFIED;
        ExitStatus status = interrupted && !failed ? ExitStatus.INTERRUPTED : outcome.status();
        if (json) {
            print(status, outcome.message(), outcome.json());
        } else {
            outcome.lines().forEach(out::println);
            out.flush();
            if (status != ExitStatus.VERIFIED) {
                err.println(named() + ": " + status + ": " + outcome.message());
                err.flush();
            }
        }
        return written(status);
    }

    /** A result that can't be written is a failure, even if the work was done. */
    private ExitStatus written(ExitStatus status) {
        if (!out.checkError()) {
            return status;
        }
        ExitStatus told = status == ExitStatus.VERIFIED ? ExitStatus.HOST_NOT_READY : status;
        err.println(named() + ": " + told + ": " + UNWRITTEN);
        err.flush();
        return told;
    }

    /** Prints why a command failed. */
    public ExitStatus failure(Throwable failure, boolean interrupted) {
        Verdicts.Verdict verdict = interrupted
                ? new Verdicts.Verdict(
                        ExitStatus.INTERRUPTED, "SIGINT or SIGTERM arrived before the command was done", false)
                : Verdicts.of(failure);
        complain(verdict.status(), verdict.message());
        if (verdict.defect()) {
            failure.printStackTrace(err);
            err.flush();
        }
        return verdict.status();
    }

    /** Returns the name of the command; that of the script if no command is known yet. */
    private String named() {
        return program.isEmpty() ? "./rdmatest" : "./rdmatest " + program;
    }

    /** Prints one sentence on standard error, and the object. */
    public void complain(ExitStatus status, String message) {
        err.println(named() + ": " + status + ": " + message);
        err.flush();
        if (json) {
            print(status, message, Map.of());
        }
    }

    private void print(ExitStatus status, String message, Map<String, Object> fields) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("program", program);
        object.put("status", status.toString());
        object.put("exit", status.code());
        object.put("message", message);
        for (Map.Entry<String, Object> field : fields.entrySet()) {
            if (object.putIfAbsent(field.getKey(), field.getValue()) != null) {
                throw new IllegalArgumentException("The field " + field.getKey() + " of " + List.copyOf(fields.keySet())
                        + " is one that every command's JSON has");
            }
        }
        try {
            out.println(new ObjectMapper()
                    .enable(SerializationFeature.INDENT_OUTPUT)
                    .writeValueAsString(object));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("The result can't be written as JSON: " + object, e);
        }
        out.flush();
    }
}
