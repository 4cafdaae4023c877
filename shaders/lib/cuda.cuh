// What every CUDA kernel needs first: the step's constants, which the backend puts in front of the source as
//   struct SectileConstant { unsigned id, value; };
//   constexpr SectileConstant sectile_constants[] = {{0u, 128u}, ...};
#ifndef SECTILE_LIB_CUDA_CUH
#define SECTILE_LIB_CUDA_CUH

constexpr unsigned sectile_constant(unsigned id, unsigned fallback) {
  for (const SectileConstant& constant : sectile_constants)
    if (constant.id == id) return constant.value;
  return fallback;
}

#endif
