#error "src/plan and src/device know no GPU interface: cuda.h does not belong here"
