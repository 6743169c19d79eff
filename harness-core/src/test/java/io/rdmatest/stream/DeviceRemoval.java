package io.rdmatest.stream;

import static io.rdmatest.stream.StreamFixture.TIMEOUT;

import io.rdmatest.Closer;
import io.rdmatest.Ledger;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.JoinFlag;
import io.rdmatest.cm.MulticastMembership;
import io.rdmatest.cm.PortSpace;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What a process does whose device is removed meanwhile. It is one of its own: librdmacm keeps the device open until the process
 * ends, and the removal waits for that.
 */
final class DeviceRemoval {

    /** What it prints when the device may be removed. */
    static final String READY = "ready";

    private DeviceRemoval() {}

    /**
     * Uses the device, and says line by line what became of it.
     *
     * @param arguments the device's address, and "streams" or "group"
     */
    public static void main(String[] arguments) throws Exception {
        InetAddress address = InetAddress.getByName(arguments[0]);
        if (arguments[1].equals("streams")) {
            streams(address);
        } else {
            group(address);
        }
        say("left: " + Ledger.live());
        System.out.flush();
    }

    private static void say(String line) {
        System.out.println(line);
    }

    private static void streams(InetAddress address) {
        try (Closer made = new Closer()) {
            StreamEventQueue events = made.own(StreamEventQueue.create());
            StreamListener listener = made.own(
                    StreamListener.listen(events, new InetSocketAddress(address, 0), 4, StreamOptions.defaults()));
            List<StreamEndpoint> endpoints = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                endpoints.add(made.own(StreamEndpoint.connect(
                        events, null, listener.localAddress(), StreamOptions.defaults(), TIMEOUT)));
                endpoints.add(made.own(events.await(TIMEOUT).request().accept()));
                for (int side = 0; side < 2; side++) {
                    say(events.await(TIMEOUT).type().toString());
                }
            }
            StreamEndpoint sender = endpoints.get(0);
            StreamEndpoint receiver = endpoints.get(1);
            say("sent " + sender.send(ByteBuffer.allocate(100)));
            receiver.awaitReadable(TIMEOUT);
            say(READY);
            for (StreamEndpoint endpoint : endpoints) {
                say(readToItsEnd(endpoint));
            }
            try {
                say("sent " + sender.send(ByteBuffer.allocate(100)) + " to nobody");
            } catch (StreamException e) {
                say("nothing can be sent");
            }
        }
    }

    /** The side whose device is removed first may end the connection in order for the other one. */
    private static String readToItsEnd(StreamEndpoint endpoint) {
        ByteBuffer in = ByteBuffer.allocate(200);
        try {
            while (endpoint.receive(in) >= 0) {
                endpoint.awaitReadable(TIMEOUT);
            }
            return "received " + in.position() + ", and the end";
        } catch (StreamException e) {
            return "received " + in.position() + ", and " + e.reason();
        }
    }

    private static void group(InetAddress address) throws Exception {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.UDP)) {
            id.bind(new InetSocketAddress(address, 0));
            MulticastMembership member =
                    id.joinMulticast(InetAddress.getByName("239.1.2.9"), JoinFlag.FULL_MEMBER, TIMEOUT);
            say(READY);
            say(id.expectEvent(CmEvent.Type.DEVICE_REMOVAL, TIMEOUT).type().toString());
            member.close();
            say("closed");
        }
    }
}
