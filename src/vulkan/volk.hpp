// volk in a namespace of ours. With VOLK_NAMESPACE its functions and tables stand in `namespace volk`, in every program
// that uses it so: an application's own volk, whose tables may have other members, would take the place of this one.
#pragma once

#if defined(VOLK_H_)
#error "volk.h is included through vulkan/volk.hpp alone"
#endif
#define volk sectile_volk
#include <volk.h>
#undef volk

namespace sectile {
namespace volk = ::sectile_volk;
}
