// Logarithms and the names of features.
#include "correction.hpp"
#include "base/arithmetic.hpp"

namespace sectile::detail {

namespace {

// round(1024 * log2(1 + i / 64)) and round(2^20 * 2^(i / 64)).
constexpr std::array<std::int32_t, 65> kLog2 = {
    0,   23,  45,  68,  90,  111, 132, 153, 174, 194, 214, 234, 254, 273, 292, 311, 330, 348, 366,  384,  402, 419,
    436, 454, 470, 487, 504, 520, 536, 552, 568, 584, 599, 614, 629, 644, 659, 674, 689, 703, 717,  731,  745, 759,
    773, 787, 800, 813, 827, 840, 853, 866, 879, 891, 904, 916, 929, 941, 953, 965, 977, 989, 1001, 1012, 1024};
constexpr std::array<std::int64_t, 65> kExp2 = {
    1048576, 1059994, 1071537, 1083205, 1095000, 1106924, 1118978, 1131163, 1143480, 1155932, 1168519,
    1181244, 1194106, 1207109, 1220254, 1233542, 1246974, 1260553, 1274279, 1288155, 1302182, 1316362,
    1330696, 1345187, 1359835, 1374642, 1389611, 1404743, 1420040, 1435503, 1451135, 1466937, 1482910,
    1499058, 1515382, 1531883, 1548564, 1565427, 1582474, 1599706, 1617125, 1634735, 1652536, 1670531,
    1688722, 1707110, 1725700, 1744491, 1763488, 1782691, 1802103, 1821727, 1841564, 1861617, 1881889,
    1902381, 1923097, 1944038, 1965207, 1986607, 2008240, 2030108, 2052214, 2074562, 2097152};

constexpr std::string_view kPermute[] = {"cost",      "full_loads", "full_stores",   "requests",   "transactions",
                                         "conflicts", "waves",      "element_bytes", "load_width", "store_width",
                                         "workgroup", "issue",      "sector_gap"};
constexpr std::string_view kGemm[] = {"cost",      "waves",      "splits", "tail",      "full_loads",
                                      "conflicts", "load_width", "memory", "registers", "workgroup",
                                      "last_wave", "steps",      "int8",   "half_sums", "across_k",
                                      "gathered",  "quantized",  "access", "edge",      "row_length"};
constexpr std::string_view kDirect[] = {"cost", "waves", "multiply_adds", "loads", "x_lines", "y_lines"};

}  // namespace

std::int32_t log2_1024(std::uint64_t value) noexcept {
  if (value < 2) return 0;
  const int whole = 63 - std::countl_zero(value);
  // 16 bits after the leading one: 6 of them number an interval, 10 are the place in it.
  const std::uint64_t bits = (value << (63 - whole)) << 1 >> 48;
  const auto i = static_cast<std::size_t>(bits >> 10);
  const auto place = static_cast<std::int32_t>(bits & 1023);
  return whole * 1024 + kLog2[i] + (kLog2[i + 1] - kLog2[i]) * place / 1024;
}

std::int64_t times_exp2(std::int64_t value, std::int32_t exponent) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const std::int32_t whole = exponent >> 10, part = exponent & 1023;
  const auto i = static_cast<std::size_t>(part >> 4);
  const std::int64_t factor = kExp2[i] + (kExp2[i + 1] - kExp2[i]) * (part & 15) / 16;  // 2^20 to 2^21
  const auto product = static_cast<UnsignedWide>(value) * static_cast<std::uint64_t>(factor) >> 20;
  const auto scaled = whole >= 0 ? product << std::min(whole, 62) : product >> std::min(-whole, 62);
  return scaled > static_cast<UnsignedWide>(kMost) ? kMost : static_cast<std::int64_t>(scaled);
}

std::span<const std::string_view> feature_names(CostTable table) noexcept {
  if (table < CostTable::matmul_coopmat) return kPermute;
  if (table <= CostTable::conv2d_winograd) return kGemm;
  return kDirect;
}

}  // namespace sectile::detail
