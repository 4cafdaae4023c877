// Profiles of imaginary devices: no test of the planner needs a driver.
#pragma once

#include <sectile/profile.hpp>

namespace sectile::test {

// A discrete GPU with 48 KiB of workgroup memory in 32 banks of 4 bytes, and 32-byte transactions.
inline DeviceProfile gpu() {
  DeviceProfile p;
  p.name = "made-up-gpu";
  p.kind = DeviceKind::discrete;
  p.api_version = 1003;
  p.max_workgroup_invocations = 1024;
  p.max_workgroup_size = {1024, 1024, 64};
  p.max_grid = {2147483647, 65535, 65535};
  p.workgroup_memory_bytes = 49152;
  p.max_push_bytes = 256;
  p.subgroup_size = p.min_subgroup_size = p.max_subgroup_size = 32;
  p.buffer_device_address = true;
  p.storage8 = p.storage16 = p.int8 = p.int16 = p.int64 = true;
  p.transaction_bytes = 32;
  p.cache_line_bytes = 128;
  p.banks = 32;
  p.bank_bytes = 4;
  return p;
}

// A CPU driver with all features.
inline DeviceProfile cpu() {
  DeviceProfile p = gpu();
  p.name = "made-up-cpu";
  p.kind = DeviceKind::cpu;
  p.max_grid = {65535, 65535, 65535};
  p.workgroup_memory_bytes = 32768;
  p.subgroup_size = p.min_subgroup_size = p.max_subgroup_size = 8;
  p.transaction_bytes.reset();
  p.banks.reset();
  p.bank_bytes.reset();
  return p;
}

// A device that loads and stores 32-bit words only and has no 64-bit integers.
inline DeviceProfile words_only() {
  DeviceProfile p = cpu();
  p.name = "made-up-words";
  p.max_workgroup_invocations = 256;
  p.max_push_bytes = 128;
  p.subgroup_size = 4;
  p.storage8 = p.storage16 = p.int8 = p.int16 = p.int64 = false;
  return p;
}

}  // namespace sectile::test
