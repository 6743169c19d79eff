package io.rdmatest.scenarios.rstream;

import io.rdmatest.scenarios.engine.RoleContext;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Makes the connections of rstream(1), over rsockets or plain TCP. */
interface StreamEndpoint {

    /** Accepts connections. */
    interface Listener extends AutoCloseable {

        /** The port that it listens at. */
        int port();

        /**
         * Waits for a connection.
         *
         * @param slice how long at most
         * @param rows what the connection is for, which decides how its socket is tuned
         * @return the connection, or null if none came
         */
        @Nullable
        StreamLink accept(Duration slice, List<StreamRow> rows);

        @Override
        void close();
    }

    /** Listens at the options' address and port. */
    Listener listen(int backlog);

    /**
     * Connects to the server.
     *
     * @param rows what the connection is for
     * @throws io.rdmatest.scenarios.engine.ScenarioException PEER_ABSENT if nobody listens or answers, or NO_ROUTE
     */
    StreamLink connect(int port, List<StreamRow> rows);

    /** Returns what makes the connections that the options ask for. */
    static StreamEndpoint of(RoleContext context, RstreamOptions options) {
        return switch (options.transport()) {
            case RSOCKET -> new RsocketEndpoint(context, options);
            case TCP -> new TcpEndpoint(context, options);
        };
    }
}
