// fmt, compiled once into sectile_base, in a namespace of ours (cmake/Dependencies.cmake). Its packages have their
// source file in the compiled library alone, so its instantiations for char are named here: without them each file
// that formats a number would make its own.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
#if FMT_VERSION < 110000
template void buffer<char>::append(const char*, const char*);
#endif
#if FMT_VERSION >= 100000 && FMT_VERSION < 110000
template void vformat_to<char>(buffer<char>&, string_view, vformat_args<>::type, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
