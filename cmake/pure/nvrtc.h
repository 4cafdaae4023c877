#error "src/plan and src/device know no GPU interface: nvrtc.h does not belong here"
