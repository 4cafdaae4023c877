#error "src/plan and src/device know no GPU interface: vulkan/vulkan_core.h does not belong here"
