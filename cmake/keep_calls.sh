# Marks functions of a SPIR-V module so that spirv-opt does not copy them to their calls: what an unrolled epilogue calls
# many times would be there as often. A driver's compiler copies them, after specialization has left one branch of each.
# usage: keep_calls.sh SPIRV-DIS SPIRV-AS MODULE
set -e
"$1" "$3" | sed -E 's/^( *%(activation_of|erf_of|tanh_of|half_by_integers|float_to_bf16|float_for_bf16|saturated_sum|finished_float|finished_int|pack_pair|rounded_to|load_out|target_of|element_address|batch_address|vector_address|offset_of|with_prologue|product64|add64|unpack_pair|block_scale|load_half|load_float|bytes_of)_[A-Za-z0-9_]* = OpFunction %[a-z0-9]+ )None/\1DontInline/' >"$3.text"
"$2" --target-env vulkan1.3 "$3.text" -o "$3"
rm "$3.text"
