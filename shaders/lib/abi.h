// Shared by GLSL, C++ and NVRTC: the definitions that every kernel's own interface builds on.
#ifndef SECTILE_LIB_ABI_H
#define SECTILE_LIB_ABI_H

#ifdef GL_core_profile
#define SECTILE_UINT uint
#define SECTILE_ADDRESS uvec2
#else
#define SECTILE_UINT unsigned int
// A device address as two 32-bit words: a kernel needs no 64-bit integers to receive one.
struct SectileAddress {
  unsigned int lo, hi;
};
#define SECTILE_ADDRESS SectileAddress
#endif

// Specialization constants that every kernel has.
#define SECTILE_SPEC_WORKGROUP 0      // workgroup size in x; y and z are 1
// Of GLSL kernels that compute: bits below, 0 where it is left out. CUDA defines what its instructions do.
#define SECTILE_SPEC_NUMBERS 255
#define SECTILE_NUMBERS_F16 1         // f32 to f16 by integers: the device does not round as numbers.md says
#define SECTILE_NUMBERS_BF16 2        // f32 to bf16 by integers in matmul_coopmat2, as everywhere else
#define SECTILE_NUMBERS_NAN 4         // relu by integers: the device's comparison or selection loses a NaN

// Element types of kernels that compute.
#define SECTILE_TYPE_F32 0
#define SECTILE_TYPE_F16 1
#define SECTILE_TYPE_BF16 2
#define SECTILE_TYPE_I8 3
#define SECTILE_TYPE_I32 4
#define SECTILE_TYPE_Q8 5             // quantized weights: see gemm/gemm.abi.h
#define SECTILE_TYPE_Q4 6
#define SECTILE_TYPE_U8 7

// Activations: a problem's Activation. Two have parameters, words of f32 bits (of an int32 result: integers).
#define SECTILE_ACTIVATION_RELU 1     // 0: none
#define SECTILE_ACTIVATION_GELU 2
#define SECTILE_ACTIVATION_GELU_TANH 3
#define SECTILE_ACTIVATION_SILU 4
#define SECTILE_ACTIVATION_LEAKY_RELU 5     // slope
#define SECTILE_ACTIVATION_CLAMP 6          // low, high
#define SECTILE_ACTIVATION_SIGMOID 7
#define SECTILE_ACTIVATION_HARD_SWISH 8
#define SECTILE_ACTIVATION_HARD_SIGMOID 9
#define SECTILE_ACTIVATION_TANH 10
#define SECTILE_ACTIVATION_PARAMETERS(activation)                          \
  ((activation) == SECTILE_ACTIVATION_LEAKY_RELU ? 1u : (activation) == SECTILE_ACTIVATION_CLAMP ? 2u : 0u)

#endif
