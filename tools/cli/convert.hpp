// What the elements of .npy files become where a command computes with them: the same in every command.
#pragma once

#include "npy.hpp"

#include <sectile/error.hpp>
#include <sectile/problem.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::tools {

// What a user is told beside the result, a sentence each: "a.npy: f64 is rounded to f32".
using Notes = std::vector<std::string>;

// A file's elements as numbers: f16, bf16, f32, f64 or an integer's type. NumPy has no bf16: plain elements of 2 bytes
// are taken for it. Its bool is u8. Errors: invalid_problem (complex numbers, dates, plain bits), with what NumPy can
// do.
Result<DType> number_type(const NpyHeader& header, const std::string& path);

// An option's type. Errors: invalid_problem, where it is none of these.
Result<DType> type_option(std::string_view option, std::string_view text, std::span<const DType> of);

// Whether a file has booleans, which number_type takes as u8.
bool is_boolean(const NpyHeader& header) noexcept;

// The type of a product of two files: f32, f16, bf16 or i8. NumPy's promotion, as far as Sectile multiplies that type:
// bytes take the other's type, two of i8 are i8, and all else is f32.
DType promoted(DType a, DType b) noexcept;

// Makes the elements those of `to`. f64 is rounded once to a float; integers are converted where each value is one of
// `to`'s; f16 and bf16 widen to f32. `whose` names the wanted type in errors ("the result's: "). Errors: number_type's;
// invalid_problem, with the first value that does not fit, or with the type, and the line of NumPy that helps.
Result<void> convert(NpyArray& array, DType to, const std::string& path, std::string_view whose, Notes& notes);

// As a permute's stage casts f32, from f64 and in one rounding: to integers it saturates, and NaN becomes 0.
Result<void> cast_double(NpyArray& array, DType to, const std::string& path, Notes& notes);

// Whether each integer of the array is one of `to`'s values.
bool all_fit(const NpyArray& array, DType to);

// One number in `count` elements of the type. Errors: invalid_problem, where an integer type has no such value.
Result<std::vector<std::byte>> filled(std::string_view what, double value, DType type, std::size_t count);

// The whole text as a number; nothing where it is none, as a file's name. Errors: invalid_problem, where it is not
// finite, or so far from 1 that f32 has infinity or 0 for it. `else_want`: what may stand there otherwise.
Result<std::optional<double>> number_of(std::string_view what, std::string_view text, std::string_view else_want);

}  // namespace sectile::tools
