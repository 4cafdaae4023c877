// The C interface from C++17. Usage: capi_program17 [SELECTOR]; without a selector nothing needs a device.
#include <sectile/sectile17.hpp>

#include <cstdio>
#include <cstring>

static int failures = 0;
#define CHECK(condition)                                                  \
  do {                                                                    \
    if (condition) break;                                                 \
    std::fprintf(stderr, "program17.cpp:%d: %s\n", __LINE__, #condition); \
    ++failures;                                                           \
  } while (false)

template <class F>
static SectileStatus status_of(F&& call) {
  try {
    call();
  } catch (const sectile17::Error& error) {
    CHECK(std::strlen(error.what()) > 0);
    CHECK(std::strcmp(error.name(), sectile_status_name(error.status())) == 0);
    return error.status();
  }
  return SECTILE_OK;
}

static void plans() {
  using namespace sectile17;
  const Profile hopper = Profile::target("nvidia-hopper");
  CHECK(hopper.name() == "nvidia-hopper");
  CHECK(Profile::from_json(hopper.json()).json() == hopper.json());
  CHECK(with_canary(hopper, "{\"kinds\":[],\"rows\":[]}").json() == hopper.json());
  CHECK(status_of([&] { with_class(hopper, "{}"); }) == SECTILE_PARSE);
  CHECK(status_of([] { Profile::target("none such"); }) == SECTILE_MISSING);
  CHECK(status_of([] { Profile::cuda(-1); }) != SECTILE_OK);
  CHECK(status_of([] { Pack::read("/no/such/file"); }) == SECTILE_MISSING);
  CHECK(status_of([] { Pack::open("x", 1); }) == SECTILE_PARSE);

  PlanOptions options;
  options.explain = true;
  options.force = "permute_rows";
  Plan plan(hopper, "permute f16 2x300x500 axes=0,2,1", options);
  CHECK(plan.text().find("permute_rows") != std::string::npos);
  CHECK(plan.explanation().find("permute_tile") != std::string::npos);
  CHECK(plan.operands().size() == 2);
  CHECK(plan.operand("dst").bytes == 2 * 300 * 500 * 2);
  CHECK(plan.operand("dst").role == SECTILE_DESTINATION);
  CHECK(status_of([&] { plan.operand("C"); }) == SECTILE_MISSING);
  CHECK(status_of([&] { Plan(hopper, "permute"); }) == SECTILE_PARSE);
  const Plan again = Plan::from_json(hopper, plan.json());
  CHECK(again.id() == plan.id());
  Plan moved = std::move(plan);
  CHECK(moved.scratch_bytes() == 0 && !plan);

  const Plan split(hopper, "matmul f32 nn 64x64x100000");
  CHECK(split.scratch_bytes() > 0);
  PlanOptions none;
  none.limit_scratch = true;
  CHECK(Plan(hopper, "matmul f32 nn 64x64x100000", none).scratch_bytes() == 0);
}

static void run(const char* selector) {
  using namespace sectile17;
  int told = 0, locks = 0;
  RuntimeOptions options;
  options.selector = selector;
  options.canary = RuntimeOptions::Canary::later;
  options.log = [&](SectileLogLevel, const char*) { ++told; };
  options.lock_queue = [&] { ++locks; };
  options.unlock_queue = [&] { --locks; };
  Runtime first(options);
  Runtime runtime = std::move(first);
  for (const MissingFeature& missing : runtime.device().missing()) CHECK(!missing.offered && !missing.cost.empty());
  const Plan there(runtime.profile(), "permute f32 37x53 axes=1,0"),
      back(runtime.profile(), "permute f32 53x37 axes=1,0");
  CHECK(!runtime.test(there));
  const auto ready = runtime.device().prepare({&there, &back});
  CHECK(told > 0);
  const auto one = runtime.device().prepare(there);
  CHECK(runtime.device().pipelines() > 0 && runtime.device().pipelines() <= 2);
  std::vector<float> in(37 * 53), out(37 * 53, -1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7 % 1009);
  const std::size_t bytes = in.size() * sizeof(float);
  Buffer a = runtime.buffer(bytes), b = runtime.buffer(bytes), c = runtime.buffer(bytes, true);
  a.upload(in.data(), bytes);
  b.upload(out.data(), bytes);
  const SectileOperandAddress x[] = {a.operand(), b.operand()}, y[] = {b.operand(), c.operand()};
  runtime.run({recording(ready[0], x, 2), recording(ready[1], y, 2)});
  c.download(out.data(), bytes);
  CHECK(in == out);
  CHECK(std::memcmp(c.mapped(), in.data(), bytes) == 0);
  runtime.run(one, {a.operand(), b.operand()});
  b.download(out.data(), bytes);
  CHECK(out[1] == in[53]);
  CHECK(status_of([&] { runtime.run(one, {a.operand(), a.operand()}); }) == SECTILE_OVERLAP);
  CHECK(status_of([&] { a.upload(in.data(), bytes, 4); }) == SECTILE_TOO_SMALL);
  CHECK(runtime.handles().device != nullptr);
  CHECK(VkCanary::scratch_bytes(runtime.device()) > 0);
  CHECK(locks == 0);
  SectileVkAdoption adoption = SECTILE_INIT(SectileVkAdoption);
  CHECK(status_of([&] { VkDevice device(adoption); }) == SECTILE_MISSING);
  SectileCudaAdoption cuda = SECTILE_INIT(SectileCudaAdoption);
  CHECK(status_of([&] { CudaDevice device(cuda); }) != SECTILE_OK);

  // The runtime's device, adopted once more: a cache that is kept as bytes.
  const SectileVkHandles handles = runtime.handles();
  adoption.get_instance_proc_addr = handles.get_instance_proc_addr;
  adoption.instance = handles.instance;
  adoption.physical_device = handles.physical_device;
  adoption.device = handles.device;
  adoption.queue_family = handles.queue_family;
  adoption.everything_wanted = 1;
  adoption.own_cache = 1;
  VkDevice device(adoption);
  CHECK(device.profile().name() == runtime.profile().name());
  device.prepare(there);
  const auto cache = device.cache();
  CHECK(cache.size() > 56);
  adoption.cache_data = cache.data();
  adoption.cache_bytes = cache.size();
  VkDevice second(adoption);
  CHECK(second.cache().size() >= cache.size());
  adoption.cache_bytes = cache.size() - 1;
  std::string said;
  adoption.log = {[](void* user, SectileLogLevel level, const char* text) {
                    if (level == SECTILE_LOG_WARNING) *static_cast<std::string*>(user) = text;
                  },
                  &said};
  VkDevice third(adoption);
  CHECK(said.find("truncated") != std::string::npos);
  adoption.pipeline_cache = 1;
  CHECK(status_of([&] { VkDevice both(adoption); }) == SECTILE_INVALID_PROBLEM);
  CHECK(third.prepare({&there, &back}).size() == 2);
}

int main(int argc, char** argv) {
  plans();
  if (argc > 1) run(argv[1]);
  if (failures == 0) std::puts("the C++17 interface holds");
  return failures == 0 ? 0 : 1;
}
