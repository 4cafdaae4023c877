// Words and constants of the convolution kernels that have no product (conv2d_direct.abi.h): a matmul's words, some with
// other meanings. Include after conv2d/conv2d.glsl.

uint size_p() { return size_m(); }
uint output_channels() { return size_n(); }
uint group_inputs() { return size_k(); }         // input and output channels of a group
uint group_outputs() { return ldb(); }
uint size_h() { return word(kAtImage); }
uint size_w() { return word(kAtImage + 1u); }
uint size_q() { return word(kAtImage + 2u); }
// Vertical, horizontal.
uvec2 padding() { return halves(word(kAtImage + 3u)); }
uvec2 filter_stride() { return halves(word(kAtImage + 4u)); }
uvec2 dilation() { return halves(word(kAtImage + 5u)); }
