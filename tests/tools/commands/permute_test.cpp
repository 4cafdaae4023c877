// `sectile permute` on .npy files, beside NumPy.
#include "by_numpy.hpp"
#include "tools/run_command.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;

TEST_CASE("what a permute computes with is not rounded before") {
  check_by_numpy(R"(
import sys, numpy as np
folder, step = sys.argv[1], sys.argv[2]
cases = [
  ('f8', [-1e6], '--activation leaky_relu:0.001 --cast f16', [-1000], 'f2'),
  ('f8', [-0.4, -1.3], '--activation leaky_relu:10 --cast i8', [-4, -13], 'i1'),
  ('f8', [-0.4, -1.3], '--activation leaky_relu:-10 --cast u8', [4, 13], 'u1'),
  ('f8', [-3, 1e-3], '--activation relu', [0, np.float32(1e-3)], 'f4'),
  ('f8', [1.3, 300], '--activation none --cast u8', [1, 255], 'u1'),
  ('i8', [2**33], '--activation clamp:0:5 --cast f16', [5], 'f2'),
  ('i8', [2**33, 3], '--scale 0.5 --cast f32', [2**32, 1.5], 'f4'),
  ('i2', [-300, 400], '--activation relu', [0, 400], 'i4'),
  ('V2', [0x3f80, 0xbf80], '--activation relu', [0x3f80, 0], 'V2'),
  ('?', [1, 0, 1], '--bias 200', [201, 200, 201], 'i4'),
  ('?', [1, 0], '--scale 2', [2, 0], 'i4'),
  ('?', [1, 0], '--cast f32', [1, 0], 'f4'),
]
for n, (t, values, options, right, out) in enumerate(cases):
    if step == 'write':
        np.save(f'{folder}/{n}a.npy', np.array(values, '<u2').view('V2') if t == 'V2' else np.array(values, t))
        print('--axes 0 ' + options)
        continue
    got = np.load(f'{folder}/{n}.out.npy')
    want = np.array(right, '<u2').view('V2') if out == 'V2' else np.array(right, out)
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (n, got, want)
)",
                 "permute", {"a"}, 12);
}

TEST_CASE("permute agrees with NumPy") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  write_file(folder.path("make.py"), R"(
import sys, numpy as np
folder, step = sys.argv[1], sys.argv[2]
cases = [('u1', (5, 7, 3), '2,0,1', None, None), ('f2', (33, 65), '1,0', None, None),
         ('f4', (2, 3, 4, 5), '3,1,2,0', None, None), ('f8', (17, 1, 9), '2,1,0', None, None),
         ('c16', (6, 10), '1,0', None, None), ('V2', (12, 11), '1,0', None, None),
         ('f4', (2, 9, 8, 7), None, 'nhwc:nchw4c', None), ('u1', (1, 2, 5, 6, 4), None, 'NCHW4c:NHWC', 7),
         # With a stage: bf16 as V2, f64 and i64 become what is asked for.
         ('V2', (7, 5), '1,0', '--cast=f32', None), ('f8', (7, 5), '1,0', '--cast=f16', None),
         ('i8', (7, 5), '1,0', '--cast=f32', None), ('f4', (7, 5), '1,0', '--bias=0.5', None),
         ('f4', (6, 5), '1,0', None, 'last'), ('f4', (6, 5), '1,0', None, 'first')]
for n, (t, shape, axes, layout, channels) in enumerate(cases):
    dtype = np.dtype(t)
    count = int(np.prod(shape)) * dtype.itemsize
    a = np.frombuffer(np.random.default_rng(n).integers(0, 256, count, np.uint8).tobytes(), dtype).reshape(shape)
    stage = channels if channels in ('first', 'last') else None
    cast = n > 7 and not stage
    if stage: a = np.random.default_rng(n).integers(-9, 9, shape).astype(dtype)
    factor = 1 if t[0] == 'i' else 1.001
    if cast and t != 'V2': a = np.arange(35).reshape(shape).astype(dtype) * dtype.type(factor)
    if n % 2: a = np.asfortranarray(a)
    if step == 'write':
        np.save(f'{folder}/{n}.npy', a)
        if stage: np.save(f'{folder}/{n}add.npy', np.ascontiguousarray(a.T[::-1]))
        more = layout if cast else f'--channels={channels}' if channels else ''
        if stage: more = f'--activation=clamp:-2:5 --add={folder}/{n}add.npy' + ' --activation-last' * (stage == 'last')
        print(f'--axes={axes}' if axes else f'--layout={layout}', more)
        continue
    if cast:
        wide = (a.view('u2').astype('u4') << 16).view('f4') if t == 'V2' else a
        want = (wide.T + np.float32(0.5)) if 'bias' in layout else wide.T.astype('f2' if 'f16' in layout else 'f4')
        got = np.load(f'{folder}/{n}.out.npy')
        assert got.dtype == want.dtype and got.shape == want.shape, (n, got.dtype, got.shape)
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | ((got == 0) & (abs(want) < 1.2e-38))  # denormals
        assert same.all(), n
        continue
    if stage: want = np.clip(a.T + a.T[::-1], -2, 5) if stage == 'last' else np.clip(a.T, -2, 5) + a.T[::-1]
    elif axes: want = a.transpose([int(x) for x in axes.split(',')])
    elif layout == 'nhwc:nchw4c':
        padded = np.zeros(shape[:3] + (8,), dtype); padded[..., :shape[3]] = a
        want = padded.reshape(shape[:3] + (2, 4)).transpose(0, 3, 1, 2, 4)
    else: want = a.transpose(0, 2, 3, 1, 4).reshape(1, 5, 6, 8)[..., :channels]
    got = np.load(f'{folder}/{n}.out.npy')
    assert got.dtype == dtype and got.shape == want.shape, (n, got.dtype, got.shape, want.shape)
    assert got.tobytes() == np.ascontiguousarray(want).tobytes(), n
)");
  const Ran wrote = run_program("python3", {folder.path("make.py"), folder.path(""), "write"});
  if (wrote.code != 0) {
    MESSAGE("skipped: no python3 with numpy: " << wrote.err);
    return;
  }
  std::size_t begin = 0;
  for (int n = 0; begin < wrote.out.size(); ++n) {
    const std::size_t end = wrote.out.find('\n', begin);
    const std::string line = wrote.out.substr(begin, end - begin);
    begin = end + 1;
    std::vector<std::string> arguments = {"permute",  folder.path(std::to_string(n) + ".npy"),
                                          "-o",       folder.path(std::to_string(n) + ".out.npy"),
                                          "--device", cpu_device()};
    std::istringstream words(line);
    for (std::string word; words >> word;) arguments.push_back(word);
    const Ran ran = run_sectile(arguments);
    CHECK_MESSAGE(ran.code == 0, ran.err);
  }
  const Ran read = run_program("python3", {folder.path("make.py"), folder.path(""), "read"});
  CHECK_MESSAGE(read.code == 0, read.err);
}
