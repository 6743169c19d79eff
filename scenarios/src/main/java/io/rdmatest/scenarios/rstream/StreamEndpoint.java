package io.rdmatest.scenarios.rstream;

import io.rdmatest.scenarios.role.RoleContext;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Makes the connections of rstream(1), over rsockets or plain TCP. */
interface StreamEndpoint {

    /** Accepts connections. */
    interface Listener extends AutoCloseable {

        /** Returns the port of the listener. */
        int port();

        /**
         * Waits for a connection.
         *
         * @param slice the longest wait
         * @param rows the rows of the connection, which decide the tuning of its socket
         * @return the connection; null if none arrived
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
     * @param rows the rows of the connection
     * @throws io.rdmatest.scenarios.role.ScenarioException PEER_ABSENT if nobody listens or answers, or NO_ROUTE
     */
    StreamLink connect(int port, List<StreamRow> rows);

    /** Returns the endpoint for the transport of the options. */
    static StreamEndpoint of(RoleContext context, RstreamOptions options) {
        return switch (options.transport()) {
            case RSOCKET -> new RsocketEndpoint(context, options);
            case TCP -> new TcpEndpoint(context, options);
        };
    }
}
