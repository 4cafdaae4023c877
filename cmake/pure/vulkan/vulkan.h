#error "src/plan and src/device know no GPU interface: vulkan/vulkan.h does not belong here"
