/**
 * What is on the wire: captures the packets of a software RDMA device, decodes RoCEv2 with its management datagrams and the
 * reports of multicast members, and judges whether they keep the rules.
 *
 * <p>A capture is a pcap file, which wireshark and tshark read, too. Sections named here are those of the InfiniBand
 * Architecture Specification, volume 1, and of its annex A17 for RoCEv2.
 */
@NullMarked
package io.rdmatest.wire;

import org.jspecify.annotations.NullMarked;
