# shellcheck shell=bash
# What an image of the machine is made of: what the one who makes it and those who look at it agree on.

# The first line of an image's manifest. RdmaVm/Machine.pm has the same; an image with another one is made anew.
# shellcheck disable=SC2034 # used where this is read
readonly IMAGE_FORMAT='# rdmatest image 3'

# How an ELF file begins: the kernel, and each module.
# shellcheck disable=SC2034 # used where this is read
readonly ELF=$'\177ELF'

# Without one of these the machine has no console, no network, no root file system or no RDMA device.
# shellcheck disable=SC2034 # used where this is read
readonly NEEDED_MODULES="virtio_pci virtio_net virtio_console virtio_rng
    9p 9pnet_virtio overlay
    ib_uverbs rdma_cm rdma_ucm rdma_rxe"

# What tests of faults and of several devices use, and crc32: rxe of older kernels asks the crypto layer for it by name, and
# newer kernels have it elsewhere. A kernel may be without these.
# shellcheck disable=SC2034 # used where this is read
readonly OTHER_MODULES="crc32_generic crc32_pclmul ib_umad dummy veth sch_netem sch_prio sch_ingress cls_u32 act_mirred"
