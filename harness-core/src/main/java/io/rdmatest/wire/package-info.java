/**
 * Captures the packets of a software RDMA device, decodes RoCE with its management datagrams and multicast membership
 * reports, and judges them by the specification.
 *
 * <p>A capture is a pcap file for wireshark and tshark, too. Section numbers refer to the InfiniBand Architecture
 * Specification, volume 1, and its annex A17 for RoCEv2.
 */
@NullMarked
package io.rdmatest.wire;

import org.jspecify.annotations.NullMarked;
