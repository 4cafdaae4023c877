#include "generate.hpp"

#include "pick.hpp"
#include "random.hpp"

#include <algorithm>
#include <array>

namespace sectile::reference {
namespace {

constexpr std::array<std::int64_t, 16> kMatmulPrimes = {2, 3, 5, 7, 11, 13, 17, 31, 37, 61, 67, 97, 127, 131, 257, 509};

// At most `limit`, which is at least 1.
std::int64_t pick_matmul_size(Random& random, std::int64_t limit) {
  std::int64_t size = 1;
  switch (random.below(7)) {
    case 0:
      size = std::int64_t{1} << random.below(10);
      break;
    case 1:
      size = kMatmulPrimes[random.below(kMatmulPrimes.size())];
      break;
    case 2:
      size = random.between(1, 9);
      break;
    case 3:
    case 4:
      size = (std::int64_t{8} << random.below(6)) * random.between(1, 3) + random.between(-1, 1);
      break;  // by a tile
    case 5:
      size = 4 * random.between(1, 64);
      break;
    default:
      size = random.between(1, 400);
      break;
  }
  return std::clamp<std::int64_t>(size, 1, limit);
}

void pick_sizes(MatmulProblem& p, Random& random, std::int64_t unit) {
  std::int64_t budget = std::int64_t{1} << (8 + random.below(13));
  if (random.one_in(300)) budget = std::int64_t{1} << 23;
  budget = std::max<std::int64_t>(budget / p.batch, 64);
  switch (random.below(8)) {
    case 0:  // a vector, or nearly
    case 1: {
      const std::int64_t few = random.one_in(2) ? 1 : random.between(2, 16);
      const std::int64_t many = pick_matmul_size(random, std::max<std::int64_t>(budget / few, 1));
      p.k = pick_matmul_size(random, std::max<std::int64_t>(budget / few / many, 1));
      p.m = few;
      p.n = many;
      if (random.one_in(2)) std::swap(p.m, p.n);
      break;
    }
    case 2:  // a long sum
      p.m = random.between(1, 8);
      p.n = random.between(1, 8);
      p.k = random.between(1, std::min<std::int64_t>(budget / p.m / p.n + 1, 70000));
      break;
    default: {
      // The first one drawn must not eat all.
      std::array<std::int64_t*, 3> sizes = {&p.m, &p.n, &p.k};
      for (std::size_t i = 3; i > 1; --i) std::swap(sizes[i - 1], sizes[random.below(i)]);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t left = i == 2 ? budget : std::max<std::int64_t>(budget >> (2 + random.below(6)), 1);
        *sizes[i] = pick_matmul_size(random, left);
        budget = std::max<std::int64_t>(budget / *sizes[i], 1);
      }
      break;
    }
  }
  for (std::int64_t* const size : {&p.m, &p.n, &p.k})
    if (*size >= unit) *size = up(*size, unit);
  // Whole steps, as kernels without bounds of K want them.
  if (random.one_in(12)) p.k = 128 * random.between(2, 5);
  if (random.one_in(60)) *one_of(random, {&p.m, &p.n, &p.k, &p.k, &p.k, &p.batch}) = 0;
}

void pick_matmul_types(MatmulProblem& p, Random& random) {
  const StoredTypes stored = pick_types(random, {WeightFormat::q8, WeightFormat::q4}, p.type, p.acc, p.out);
  p.a_type = stored.left;
  p.b_type = stored.right;
  p.b_format = stored.weights;
  if (p.b_format == WeightFormat::q4) p.transpose_b = true;
  p.a_scale = p.type != DType::i8 && random.one_in(9);
}

// A row's step: packed, a multiple of what vectors need, or anything.
std::int64_t pick_ld(Random& random, std::int64_t columns, std::int64_t unit) {
  switch (random.below(6)) {
    case 0:
      return up(columns + random.between(0, 9), unit);
    case 1:
      return up(columns, one_of<std::int64_t>(random, {4, 8, 16, 32}));
    default:
      return 0;
  }
}

// Steps of one operand of `rows` rows of `columns`; a source may be one for all batches.
void pick_steps(Random& random, std::int64_t unit, const MatmulProblem& p, std::int64_t rows, std::int64_t columns,
                bool source, std::int64_t& ld, std::int64_t& step) {
  ld = pick_ld(random, columns, unit);
  if (p.batch <= 1) return;
  const std::int64_t row = ld == 0 ? columns : ld;
  switch (random.below(6)) {
    case 0:
      if (source) step = 0;
      break;
    case 1:
      step = up(rows * row + random.between(0, 9), random.one_in(2) ? 8 : unit);
      break;
    case 2:  // the batches' rows side by side
      step = up(columns, random.one_in(2) ? 8 : unit);
      ld = p.batch * step;
      break;
    case 3:
      if (source) step = up(random.between(0, rows * row), unit);  // batches that share rows, or parts of them
      break;
    default:
      break;
  }
}

void pick_strides(MatmulProblem& p, Random& random, std::int64_t unit) {
  pick_steps(random, unit, p, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, true, p.lda, p.a_batch);
  pick_steps(random, unit, p, p.m, p.n, false, p.ldd, p.d_batch);
  if (p.beta != 0 && !p.c_is_d) pick_steps(random, unit, p, p.m, p.n, true, p.ldc, p.c_batch);
  if (p.residual) pick_steps(random, unit, p, p.m, p.n, true, p.ldr, p.r_batch);
  if (p.b_format == WeightFormat::q4) {
    if (p.k % 32 != 0 || random.one_in(3)) p.ldb = up(p.k, 32) + 32 * random.between(0, 2);
    if (p.batch > 1 && random.one_in(2)) p.b_batch = 32 * random.between(0, 8);
  } else {
    pick_steps(random, unit, p, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, true, p.ldb, p.b_batch);
  }
}

void pick_epilogue(MatmulProblem& p, Random& random) {
  if (random.one_in(2)) return;  // none at all
  const auto axis = [&] {
    return one_of(random, {PerAxis::none, PerAxis::none, PerAxis::row, PerAxis::column, PerAxis::column});
  };
  p.bias = axis();
  p.residual = random.one_in(4);
  if (p.out == DType::i32) return pick_integer_activation(p, random);
  p.scale = axis();
  pick_float_epilogue(p, random);
}

}  // namespace

MatmulProblem generate_matmul(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t own = mix(seed ^ 0x6d61746d756cu);  // "matmul"
  Random kind(own ^ mix(~index)), random(own ^ mix(index));
  MatmulProblem p;
  p.transpose_a = kind.one_in(2);
  p.transpose_b = kind.one_in(2);
  pick_matmul_types(p, kind);
  pick_epilogue(p, kind);
  p.a_align = pick_product_align(kind, size_bytes(p.a_type));
  p.b_align = pick_product_align(kind, size_bytes(p.b_type));
  p.d_align = pick_product_align(kind, size_bytes(p.out));
  const auto unit = one_of<std::int64_t>(kind, {1, 1, 1, 2, 4, 8, 8});
  const bool batched = kind.one_in(3);
  p.batch = batched ? random.between(2, 5) : 1;
  pick_sizes(p, random, unit);
  pick_strides(p, random, unit);
  return p;
}

}  // namespace sectile::reference
