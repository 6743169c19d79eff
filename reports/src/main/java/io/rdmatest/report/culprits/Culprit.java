package io.rdmatest.report.culprits;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A cause that explains bad cells, with its evidence. */
public sealed interface Culprit {

    /** The direction of the data that a node or a port handles badly. */
    enum Direction {
        /** Sending is bad. */
        OUT("out"),
        /** Receiving is bad. */
        IN("in"),
        /** Both are bad. */
        BOTH("both");

        private final String word;

        Direction(String word) {
            this.word = word;
        }

        /** Returns the name in JSON. */
        @Override
        public String toString() {
            return word;
        }
    }

    /** The result of measuring a cause again, with two good partners. */
    enum Confirmation {
        /** It was not measured again, or not with two partners on each of its rails. */
        NONE,
        /** Only a part of the cause's cells is bad. It is not measured again, because two good partners would not be evidence. */
        PART,
        /** The cause was as bad with both partners. */
        CONFIRMED,
        /** The cause was not as bad with both partners. What the matrix shows is real all the same. */
        NOT_CONFIRMED
    }

    /**
     * The evidence for a cause.
     *
     * @param bad how many of the cause's cells are bad
     * @param of how many of the cause's cells were measured or failed
     * @param metric the member of a cell that shows the cause most clearly, or {@code failed} or {@code counters}
     * @param median the median of that metric over the cause's cells, in SI units; NaN if there is none
     * @param others the median of that metric over good cells of the same rails, in SI units; NaN if there is none
     * @param confirmation the result of measuring the cause again
     * @param secondOpinion the result of another program; null if none was asked
     * @param text the evidence as a sentence
     */
    record Evidence(
            int bad,
            int of,
            String metric,
            double median,
            double others,
            Confirmation confirmation,
            @Nullable SecondOpinion secondOpinion,
            String text) {

        /** Creates evidence without a second opinion. */
        public Evidence(
                int bad, int of, String metric, double median, double others, Confirmation confirmation, String text) {
            this(bad, of, metric, median, others, confirmation, null, text);
        }

        /** Returns the same evidence with a second opinion, and with a clause appended to its text. */
        Evidence with(SecondOpinion opinion, String clause) {
            return new Evidence(bad, of, metric, median, others, confirmation, opinion, text + "; " + clause);
        }

        private Map<String, @Nullable Object> json() {
            Map<String, @Nullable Object> json = new LinkedHashMap<>();
            json.put("bad", bad);
            json.put("of", of);
            json.put("metric", metric);
            json.put("median", number(median));
            json.put("others", number(others));
            if (confirmation == Confirmation.CONFIRMED || confirmation == Confirmation.NOT_CONFIRMED) {
                json.put("confirmed", confirmation == Confirmation.CONFIRMED);
            }
            if (secondOpinion != null) {
                json.put("secondOpinion", secondOpinion.json());
            }
            json.put("text", text);
            return json;
        }

        static @Nullable Double number(double value) {
            return Double.isNaN(value) || Double.isInfinite(value)
                    ? null
                    : Double.valueOf(
                            new BigDecimal(value).round(new MathContext(6)).doubleValue());
        }
    }

    /**
     * A node is bad on all rails that it has, which are two or more.
     *
     * @param node its name
     * @param direction which way
     * @param evidence what speaks for it
     */
    record Node(String node, Direction direction, Evidence evidence) implements Culprit {
        @Override
        public String rail() {
            return "";
        }

        @Override
        public String from() {
            return direction == Direction.IN ? "" : node;
        }

        @Override
        public String to() {
            return direction == Direction.OUT ? "" : node;
        }
    }

    /**
     * A port is bad: a node on one of its rails.
     *
     * @param node its node
     * @param rail its rail
     * @param direction which way
     * @param evidence what speaks for it
     */
    record Port(String node, String rail, Direction direction, Evidence evidence) implements Culprit {
        @Override
        public String from() {
            return direction == Direction.IN ? "" : node;
        }

        @Override
        public String to() {
            return direction == Direction.OUT ? "" : node;
        }
    }

    /**
     * The data from one leaf switch to another, or within one leaf switch, is bad.
     *
     * @param fromLeaf the leaf of the senders
     * @param toLeaf the leaf of the receivers; may be the same
     * @param rail the rail
     * @param evidence what speaks for it
     */
    record Block(String fromLeaf, String toLeaf, String rail, Evidence evidence) implements Culprit {
        @Override
        public String from() {
            return fromLeaf;
        }

        @Override
        public String to() {
            return toLeaf;
        }
    }

    /**
     * One pair is bad in one direction, and its ports are good with others.
     *
     * @param from the node that sends
     * @param to the node that receives
     * @param rail the rail
     * @param evidence what speaks for it
     */
    record Path(String from, String to, String rail, Evidence evidence) implements Culprit {}

    /** Returns its rail; empty for all rails of a node. */
    String rail();

    /** Returns the node that sends, or the leaf of a block; empty if any does. */
    String from();

    /** Returns the node that receives, or the leaf of a block; empty if any does. */
    String to();

    /**
     * Returns whether a cell is one of the cause's.
     *
     * @param itsRail the rail of the cell
     * @param sender its node that sends
     * @param receiver its node that receives
     * @param senderLeaf the leaf of that port; null if it is not known
     * @param receiverLeaf the leaf of the receiving port; null if it is not known
     */
    default boolean explains(
            String itsRail,
            String sender,
            String receiver,
            @Nullable String senderLeaf,
            @Nullable String receiverLeaf) {
        return (rail().isEmpty() || rail().equals(itsRail))
                && switch (this) {
                    case Path path -> sender.equals(path.from()) && receiver.equals(path.to());
                    case Block block ->
                        block.fromLeaf().equals(senderLeaf) && block.toLeaf().equals(receiverLeaf);
                    case Node node -> sender.equals(node.from()) || receiver.equals(node.to());
                    case Port port -> sender.equals(port.from()) || receiver.equals(port.to());
                };
    }

    /** Returns the evidence for the cause. */
    Evidence evidence();

    /**
     * Returns whether the cause was not confirmed when it was measured again. Its node is then only a suspect, but the cause
     * fails a run all the same.
     */
    default boolean isSuspect() {
        return evidence().confirmation() == Confirmation.NOT_CONFIRMED;
    }

    /** Returns the members of its JSON object, in their order. */
    default Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        switch (this) {
            case Node node -> {
                json.put("kind", "node");
                json.put("node", node.node());
                json.put("direction", node.direction().toString());
            }
            case Port port -> {
                json.put("kind", "port");
                json.put("node", port.node());
                json.put("rail", port.rail());
                json.put("direction", port.direction().toString());
            }
            case Block block -> {
                json.put("kind", "block");
                json.put("fromLeaf", block.fromLeaf());
                json.put("toLeaf", block.toLeaf());
                json.put("rail", block.rail());
            }
            case Path path -> {
                json.put("kind", "path");
                json.put("from", path.from());
                json.put("to", path.to());
                json.put("rail", path.rail());
            }
        }
        json.put("evidence", evidence().json());
        return json;
    }

    /** Returns its name in a sentence, such as {@code port n017 on rail2, receiving}. */
    default String name() {
        return switch (this) {
            case Node node -> "node " + node.node() + words(node.direction());
            case Port port -> "port " + port.node() + " on " + port.rail() + words(port.direction());
            case Block block -> "block " + block.fromLeaf() + " to " + block.toLeaf() + " on " + block.rail();
            case Path path -> "path " + path.from() + " to " + path.to() + " on " + path.rail();
        };
    }

    private static String words(Direction direction) {
        return switch (direction) {
            case OUT -> ", sending";
            case IN -> ", receiving";
            case BOTH -> ", sending and receiving";
        };
    }
}
