#error "src/plan and src/device know no GPU interface: vulkan/vulkan.hpp does not belong here"
