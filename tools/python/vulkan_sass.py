#!/usr/bin/env python3
"""What NVIDIA's Vulkan driver compiled, as SASS.

The driver keeps compiled pipelines in its shader cache. Leave them in a folder of their own, then list or disassemble:

    __GL_SHADER_DISK_CACHE=1 __GL_SHADER_DISK_CACHE_PATH=/tmp/cache \\
      sectile bench "permute u8 12347x6421 axes=1,0" --device vulkan:0 --force permute_ragged --statistics
    tools/python/vulkan_sass.py /tmp/cache              # each kernel's bytes: "Binary Size" of --statistics
    tools/python/vulkan_sass.py /tmp/cache --size 13312 # the SASS of that one

It needs zstd, and nvdisasm of the CUDA toolkit. The cache's format is not documented; as nvcachetools found it (drivers
390 to 510), and as driver 580.159 still has it: an index NAME.toc of 32 bytes and then 24 bytes for each entry, whose
last two words are an offset in NAME.bin and a size; there, 36 bytes and a zstd frame. An "NVuc" object in it has a table of
sections (type, bytes, offset) from byte 32 on, of 32 bytes each, their number in its third word. Type 1 is the code.
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

ENTRY, HEADER, CODE = 24, 32, 1


def frames(toc):
    """The packed objects of an index and its file."""
    index, data = toc.read_bytes(), toc.with_suffix(".bin").read_bytes()
    if index[:4] != b"CDVN":
        raise ValueError(f"{toc} is no index of this driver's cache")
    for at in range(HEADER, len(index) - ENTRY + 1, ENTRY):
        offset, size = struct.unpack_from("<2I", index, at + 16)
        yield data[offset + 36 : offset + 32 + size]


def codes(unpacked):
    """The code sections of an unpacked object."""
    at = unpacked.find(b"NVuc")
    if at < 0:
        return
    thing = unpacked[at:]
    sections = struct.unpack_from("<I", thing, 8)[0] & 0xFFFF
    for s in range(sections):
        kind, size, offset = struct.unpack_from("<3I", thing, 32 + 32 * s)
        if kind == CODE:
            yield thing[offset : offset + size]


def unpack(frame):
    return subprocess.run(["zstd", "-dqc"], input=frame, stdout=subprocess.PIPE, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="what __GL_SHADER_DISK_CACHE_PATH named")
    parser.add_argument("--size", type=int, help="disassemble the kernels of this many bytes")
    parser.add_argument("--architecture", default="SM90", help="for nvdisasm (SM90)")
    options = parser.parse_args()
    indices = sorted(options.folder.rglob("*.toc"))
    found = [code for toc in indices for frame in frames(toc) for code in codes(unpack(frame))]
    if not found:
        sys.exit(f"{options.folder}: no compiled kernel")
    if options.size is None:
        for code in found:
            print(len(code))
        return
    chosen = [code for code in found if len(code) == options.size]
    if not chosen:
        sys.exit(f"{options.folder}: no kernel of {options.size} bytes, but of {', '.join(str(len(c)) for c in found)}")
    for code in chosen:
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            file.write(code)
            file.flush()
            subprocess.run(["nvdisasm", "--binary", options.architecture, file.name], check=True)


if __name__ == "__main__":
    main()
