#!/usr/bin/perl
# vmlinux.pl VMLINUZ OUTPUT: takes the ELF kernel out of a compressed x86 boot image. QEMU starts it directly, which saves
# the emulated processor the decompression. The offsets are those of the kernel's Documentation/arch/x86/boot.rst.
# vmlinux.pl --program VMLINUZ: prints the name of the program that decompresses this one.
use strict;
use warnings;

my ($input, $output) = @ARGV;
my $only_name = $input eq '--program';
$input = $output if $only_name;
open my $in, '<:raw', $input or die "$input: $!\n";
my $image = do { local $/ = undef; <$in> } // '';
length $image > 0x250 && substr($image, 0x202, 4) eq "HdrS" or die "$input is not a boot image\n";
my $setup_sectors = unpack 'C', substr $image, 0x1f1, 1;
my ($offset, $length) = unpack 'V V', substr $image, 0x248, 8;
my $start = ($setup_sectors + 1) * 512 + $offset;
$start + $length <= length $image or die "$input is cut short\n";
my $payload = substr $image, $start, $length;

my @formats = (
    ["\xfd7zXZ\0",         'xz -dc'],
    ["\x28\xb5\x2f\xfd",   'zstd -dc'],
    ["\x02\x21\x4c\x18",   'lz4 -dc'],
    ["\x1f\x8b",           'gzip -dc'],
    ["\x5d\0\0",           'xz --format=lzma -dc'],
);
my ($format) = grep { substr($payload, 0, length $_->[0]) eq $_->[0] } @formats;
die "$input is compressed in a way that is not known here\n" if !$format;
my ($program, @options) = split / /, $format->[1];
if ($only_name) {
    print "$program\n";
    exit;
}
# The kernel's build appends the uncompressed size to all formats but gzip, which has it already.
substr($payload, -4) = '' if $program ne 'gzip';

# Without a shell, to which a quote in the path would mean something.
my $child = open(my $out, '|-') // die "fork: $!\n";
if (!$child) {
    open STDOUT, '>:raw', $output or die "$output: $!\n";
    exec $program, @options or die "$program: $!\n";
}
binmode $out;
# The program that reads may end early; its status says so.
$SIG{PIPE} = 'IGNORE';
print {$out} $payload;
close $out or die "$program cannot decompress the kernel in $input\n";

open my $check, '<:raw', $output or die "$output: $!\n";
read $check, my $magic, 4;
($magic // '') eq "\x7fELF" or die "$input does not hold an ELF kernel\n";
