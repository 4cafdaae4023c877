// Types, loops and extensions of matmul_coopmat's variants. Include before gemm/gemm.glsl.
#define F16_BY_DEVICE
#pragma use_vulkan_memory_model
#define NARROW
#ifdef F16
#define COMPONENT float16_t
#define TYPE SECTILE_TYPE_F16
#define BYTES 2
#elif defined(BF16)
#define COMPONENT bfloat16_t
#define TYPE SECTILE_TYPE_BF16
#define BYTES 2
#else
#define INTEGER
#define COMPONENT int8_t
#define BYTES 1
#endif
#ifdef HALF_ACCUMULATORS
#define ACC float16_t
#define ACC_BYTES 2
#elif defined(INTEGER)
#define ACC int32_t
#define ACC_BYTES 4
#else
#define ACC float
#define ACC_BYTES 4
#endif
#define PREFETCH 1    // LOOP: the next step's loads are all before a step's fragments; the last step is loaded twice
#define PEELED 2     // some before each row of fragments is multiplied; the loop ends with the last whole step loaded
#define PIPELINED 3    // the next step is staged before a step's last product, whose fragments are in registers by then
#define PIPELINED_L2 4    // the same; needs 3 or more steps, none partial; starts with an L2 prefetch of the operands
#define SERIAL 5      // no load is in flight during the products: for short loops, with little code
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
#ifdef BF16
#extension GL_EXT_bfloat16 : require
#endif
