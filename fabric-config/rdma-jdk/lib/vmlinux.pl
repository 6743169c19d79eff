#!/usr/bin/perl
# vmlinux.pl VMLINUZ OUTPUT: takes the ELF kernel out of a compressed x86 boot image. QEMU starts it directly, which saves
# the emulated processor the decompression. The offsets are those of the kernel's Documentation/arch/x86/boot.rst.
use strict;
use warnings;

my ($input, $output) = @ARGV;
open my $in, '<:raw', $input or die "$input: $!\n";
my $image = do { local $/ = undef; <$in> };
substr($image, 0x202, 4) eq "HdrS" or die "$input is not a boot image\n";
my $setup_sectors = unpack 'C', substr $image, 0x1f1, 1;
my ($offset, $length) = unpack 'V V', substr $image, 0x248, 8;
my $payload = substr $image, ($setup_sectors + 1) * 512 + $offset, $length;

my @formats = (
    ["\xfd7zXZ\0",         'xz -dc'],
    ["\x28\xb5\x2f\xfd",   'zstd -dc'],
    ["\x02\x21\x4c\x18",   'lz4 -dc'],
    ["\x1f\x8b",           'gzip -dc'],
);
my ($format) = grep { substr($payload, 0, length $_->[0]) eq $_->[0] } @formats;
die "$input is compressed in a way that is not known here\n" if !$format;
# The kernel's build appends the uncompressed size to all formats but gzip, which has it already.
substr($payload, -4) = '' if $format->[1] !~ /gzip/;

# Without a shell, to which a quote in the path would mean something.
my $program = open(my $out, '|-') // die "fork: $!\n";
if (!$program) {
    open STDOUT, '>:raw', $output or die "$output: $!\n";
    exec split / /, $format->[1] or die "$format->[1]: $!\n";
}
binmode $out;
print {$out} $payload;
close $out or die "$format->[1] failed\n";

open my $check, '<:raw', $output or die "$output: $!\n";
read $check, my $magic, 4;
$magic eq "\x7fELF" or die "$input does not hold an ELF kernel\n";
