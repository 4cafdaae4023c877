#error "src/plan and src/device know no GPU interface: volk.h does not belong here"
