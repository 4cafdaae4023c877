// DeviceProfile's fields, sorted by name: the list that JSON, supplements and tests use.
#pragma once

#include <sectile/profile.hpp>

#include <type_traits>

namespace sectile::detail {

// Calls visit(name, field) for every field; P is DeviceProfile, const or not.
template <class P, class F>
void for_each_field(P& profile, F&& visit) {
  // Does not compile when a field is added, which then belongs in the list below as well.
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20,
                          f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39,
                          f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52, f53, f54, f55, f56, f57, f58,
                          f59, f60, f61, f62] = profile;
  visit("api", profile.api);
  visit("api_version", profile.api_version);
  visit("async_copy", profile.async_copy);
  visit("bank_bytes", profile.bank_bytes);
  visit("banks", profile.banks);
  visit("bf16_conversion", profile.bf16_conversion);
  visit("bfloat16", profile.bfloat16);
  visit("buffer_device_address", profile.buffer_device_address);
  visit("cache_line_bytes", profile.cache_line_bytes);
  visit("canary", profile.canary);
  visit("canary_failed", profile.canary_failed);
  visit("cooperative_matrix", profile.cooperative_matrix);
  visit("cooperative_matrix2", profile.cooperative_matrix2);
  visit("cooperative_matrix_tensor_addressing", profile.cooperative_matrix_tensor_addressing);
  visit("cooperative_matrix_workgroup_scope", profile.cooperative_matrix_workgroup_scope);
  visit("cuda_architecture", profile.cuda_architecture);
  visit("cuda_architecture_features", profile.cuda_architecture_features);
  visit("device_id", profile.device_id);
  visit("driver", profile.driver);
  visit("driver_version", profile.driver_version);
  visit("f16_conversion", profile.f16_conversion);
  visit("float16", profile.float16);
  visit("int16", profile.int16);
  visit("int64", profile.int64);
  visit("int8", profile.int8);
  visit("integer_dot_product", profile.integer_dot_product);
  visit("kind", profile.kind);
  visit("l2_bytes", profile.l2_bytes);
  visit("matrix_max_dimension", profile.matrix_max_dimension);
  visit("matrix_max_workgroup_invocations", profile.matrix_max_workgroup_invocations);
  visit("matrix_reserved_workgroup_memory_bytes", profile.matrix_reserved_workgroup_memory_bytes);
  visit("matrix_shapes", profile.matrix_shapes);
  visit("matrix_units", profile.matrix_units);
  visit("max_allocation_bytes", profile.max_allocation_bytes);
  visit("max_buffer_bytes", profile.max_buffer_bytes);
  visit("max_dynamic_workgroup_memory_bytes", profile.max_dynamic_workgroup_memory_bytes);
  visit("max_grid", profile.max_grid);
  visit("max_invocations_per_multiprocessor", profile.max_invocations_per_multiprocessor);
  visit("max_push_bytes", profile.max_push_bytes);
  visit("max_storage_range_bytes", profile.max_storage_range_bytes);
  visit("max_subgroup_size", profile.max_subgroup_size);
  visit("max_workgroup_invocations", profile.max_workgroup_invocations);
  visit("max_workgroup_size", profile.max_workgroup_size);
  visit("min_subgroup_size", profile.min_subgroup_size);
  visit("multiprocessors", profile.multiprocessors);
  visit("name", profile.name);
  visit("nan_selection", profile.nan_selection);
  visit("registers_per_multiprocessor", profile.registers_per_multiprocessor);
  visit("required_subgroup_size", profile.required_subgroup_size);
  visit("sources", profile.sources);
  visit("storage16", profile.storage16);
  visit("storage8", profile.storage8);
  visit("subgroup_size", profile.subgroup_size);
  visit("tensor_maps", profile.tensor_maps);
  visit("transaction_bytes", profile.transaction_bytes);
  visit("uuid", profile.uuid);
  visit("vendor", profile.vendor);
  visit("vendor_id", profile.vendor_id);
  visit("workgroup8", profile.workgroup8);
  visit("workgroup_memory_bytes", profile.workgroup_memory_bytes);
  visit("workgroup_memory_per_multiprocessor_bytes", profile.workgroup_memory_per_multiprocessor_bytes);
}

// Whether a field has a value: 0, "", unknown and the empty list mean none.
template <class T>
bool is_known(const T& field) {
  if constexpr (requires { field.has_value(); })
    return field.has_value();
  else if constexpr (requires { field.empty(); })
    return !field.empty();
  else
    return field != T{};
}

// The last check of a profile that was read: numbers that the planner divides by or uses as sizes.
Result<void> check_profile(const DeviceProfile& profile);

}  // namespace sectile::detail
