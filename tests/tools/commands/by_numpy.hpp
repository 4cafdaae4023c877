// Commands on .npy files that a Python script writes, and whose results it judges.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sectile::test {

// `script` is run as `FOLDER write` and, when `command` has made FOLDER/N.out.npy for each case N, as `FOLDER read`,
// where it fails if one is wrong. Told to write, it prints a line of options for each case, and makes FOLDER/NX.npy for
// each X of `inputs`. Left out where no CPU device takes 8- and 16-bit elements, or where there is no NumPy.
void check_by_numpy(const std::string& script, const std::string& command, const std::vector<std::string>& inputs,
                    std::size_t cases);

}  // namespace sectile::test
