#error "src/plan and src/device know no GPU interface: vk_mem_alloc.h does not belong here"
