#error "src/plan and src/device know no GPU interface: cuda_runtime.h does not belong here"
