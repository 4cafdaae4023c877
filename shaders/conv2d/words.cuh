// Words and weights of the kernels that convolve without a product of matrices: conv2d_direct.abi.h describes them.
// Include after conv2d/conv2d.cuh. P, K and C stand in place of M, N and K, channels of a group in place of ldb.

__device__ __forceinline__ uint group_channels(const GemmPush& push) { return ldb(push); }   // output channels
__device__ __forceinline__ uint height(const GemmPush& push) { return word(push, kAtEnd); }
__device__ __forceinline__ uint width(const GemmPush& push) { return word(push, kAtEnd + 1u); }
__device__ __forceinline__ uint out_width(const GemmPush& push) { return word(push, kAtEnd + 2u); }
__device__ __forceinline__ uint pad_top(const GemmPush& push) { return low_half(word(push, kAtEnd + 3u)); }
__device__ __forceinline__ uint pad_left(const GemmPush& push) { return high_half(word(push, kAtEnd + 3u)); }
__device__ __forceinline__ uint stride_h(const GemmPush& push) { return low_half(word(push, kAtEnd + 4u)); }
__device__ __forceinline__ uint stride_w(const GemmPush& push) { return high_half(word(push, kAtEnd + 4u)); }
__device__ __forceinline__ uint dilation_h(const GemmPush& push) { return low_half(word(push, kAtEnd + 5u)); }
__device__ __forceinline__ uint dilation_w(const GemmPush& push) { return high_half(word(push, kAtEnd + 5u)); }
