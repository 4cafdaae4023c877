/* The C interface, as a C99 program uses it: planning without a device, errors, then work on the runtime's device and
 * on a foreign one's terms. Usage: capi_program [SELECTOR]; without a selector nothing needs a device. */
#include <sectile/sectile.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "program.c:%d: %s (last error: %s)\n", line, what, sectile_last_error());
  ++failures;
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)
#define NEED(condition)                 \
  do {                                  \
    const int holds = (condition) != 0; \
    check(holds, #condition, __LINE__); \
    if (!holds) return;                 \
  } while (0)

static void statuses(void) {
  CHECK(sectile_api_version() == SECTILE_API_VERSION);
  CHECK(strlen(sectile_planner_version()) > 0);
  CHECK(strcmp(sectile_status_name(SECTILE_OK), "ok") == 0);
  CHECK(strcmp(sectile_status_name(SECTILE_PARSE), "parse") == 0);
  CHECK(strcmp(sectile_status_name(SECTILE_COMPILE), "compile") == 0);
  CHECK(strcmp(sectile_status_name(SECTILE_NO_MEMORY), "no_memory") == 0);
  CHECK(strcmp(sectile_status_name((SectileStatus)99), "unknown") == 0);
}

static void profiles(void) {
  SectileProfile* profile = NULL;
  SectileProfile* again = NULL;
  CHECK(strcmp(sectile_last_error(), "") == 0);
  CHECK(sectile_profile_target("no-such-device", &profile) == SECTILE_MISSING);
  CHECK(profile == NULL);
  CHECK(strstr(sectile_last_error(), "nvidia-hopper") != NULL);
  CHECK(sectile_profile_target(NULL, &profile) == SECTILE_MISSING);
  CHECK(sectile_profile_target("nvidia-hopper", NULL) == SECTILE_MISSING);
  NEED(sectile_profile_target("nvidia-hopper", &profile) == SECTILE_OK);
  CHECK(strcmp(sectile_profile_name(profile), "nvidia-hopper") == 0);
  NEED(sectile_profile_from_json(sectile_profile_json(profile), &again) == SECTILE_OK);
  CHECK(strcmp(sectile_profile_json(profile), sectile_profile_json(again)) == 0);
  CHECK(sectile_profile_from_json("{", &again) == SECTILE_PARSE);
  sectile_profile_destroy(again);
  sectile_profile_destroy(profile);
  sectile_profile_destroy(NULL);
}

/* A caller of a later version, whose struct has a field more. */
typedef struct LaterOptions {
  SectilePlanOptions known;
  uint64_t more;
} LaterOptions;

static void plans(void) {
  SectileProfile* profile = NULL;
  SectilePlan* plan = NULL;
  SectilePlan* again = NULL;
  SectilePlanOptions options = SECTILE_INIT(SectilePlanOptions);
  SectileOperandInfo info = SECTILE_INIT(SectileOperandInfo);
  LaterOptions later;
  uint32_t index = 99;
  NEED(sectile_profile_target("nvidia-hopper", &profile) == SECTILE_OK);
  CHECK(sectile_plan_create(profile, "permute f32 2x3 axes=0,0", NULL, &plan) == SECTILE_INVALID_PROBLEM);
  CHECK(sectile_plan_create(profile, "permute", NULL, &plan) == SECTILE_PARSE);
  CHECK(plan == NULL);

  NEED(sectile_plan_create(profile, "permute f16 2x300x500 axes=0,2,1", NULL, &plan) == SECTILE_OK);
  CHECK(strlen(sectile_plan_id(plan)) == 32);
  CHECK(strstr(sectile_plan_text(plan), "permute_") != NULL);
  CHECK(sectile_plan_operand_count(plan) == 2);
  /* An older caller's struct ends after `align`. */
  info.size = offsetof(SectileOperandInfo, bytes);
  info.bytes = 12345;
  CHECK(sectile_plan_operand(plan, 0, &info) == SECTILE_OK);
  CHECK(strcmp(info.name, "src") == 0 && info.bytes == 12345 && info.size == offsetof(SectileOperandInfo, bytes));
  info.size = sizeof info;
  NEED(sectile_plan_find_operand(plan, "dst", &index) == SECTILE_OK);
  CHECK(index == 1);
  CHECK(sectile_plan_operand(plan, index, &info) == SECTILE_OK);
  CHECK(info.role == SECTILE_DESTINATION && info.bytes == 2 * 300 * 500 * 2 && info.size == sizeof info);
  CHECK(sectile_plan_find_operand(plan, "C", &index) == SECTILE_MISSING);
  CHECK(strstr(sectile_last_error(), "src, dst") != NULL);
  CHECK(sectile_plan_operand(plan, 2, &info) == SECTILE_MISSING);
  CHECK(sectile_plan_scratch_bytes(plan) == 0);
  NEED(sectile_plan_from_json(profile, sectile_plan_json(plan), NULL, &again) == SECTILE_OK);
  CHECK(strcmp(sectile_plan_json(plan), sectile_plan_json(again)) == 0);
  sectile_plan_destroy(again);
  sectile_plan_destroy(plan);

  options.explain = 1;
  options.force = "permute_rows";
  NEED(sectile_plan_create(profile, "permute f16 2x300x500 axes=0,2,1", &options, &plan) == SECTILE_OK);
  CHECK(strstr(sectile_plan_text(plan), "permute_rows") != NULL);
  CHECK(strstr(sectile_plan_explanation(plan), "permute_tile") != NULL);
  sectile_plan_destroy(plan);

  /* An older caller's struct ends after `force`; a newer one's field that is 0 does not matter, another is refused. */
  options.explain = 0;
  options.size = offsetof(SectilePlanOptions, explain);
  NEED(sectile_plan_create(profile, "permute f16 2x300x500 axes=0,2,1", &options, &plan) == SECTILE_OK);
  sectile_plan_destroy(plan);
  memset(&later, 0, sizeof later);
  later.known.size = sizeof later;
  NEED(sectile_plan_create(profile, "permute f16 2x300x500 axes=0,2,1", &later.known, &plan) == SECTILE_OK);
  sectile_plan_destroy(plan);
  later.more = 1;
  CHECK(sectile_plan_create(profile, "permute f16 2x300x500 axes=0,2,1", &later.known, &plan) == SECTILE_UNSUPPORTED);
  options.size = 0;
  CHECK(sectile_plan_create(profile, "permute f16 2x300x500 axes=0,2,1", &options, &plan) == SECTILE_MISSING);
  sectile_profile_destroy(profile);
}

/* Two permutes one after the other: the second reads what the first one wrote. */
static void permutes(SectileRuntime* runtime) {
  enum { kRows = 37, kColumns = 53, kCount = kRows * kColumns };
  static float in[kCount], out[kCount];
  const SectileProfile* profile = sectile_runtime_profile(runtime);
  SectilePlan* plan[2] = {NULL, NULL};
  SectileVkExecutable* ready[2] = {NULL, NULL};
  SectileBuffer* buffer[3] = {NULL, NULL, NULL};
  SectileOperandAddress first[2], second[2];
  SectileVkRecording recordings[2];
  uint64_t pipelines;
  uint32_t i;
  NEED(sectile_plan_create(profile, "permute f32 37x53 axes=1,0", NULL, &plan[0]) == SECTILE_OK);
  NEED(sectile_plan_create(profile, "permute f32 53x37 axes=1,0", NULL, &plan[1]) == SECTILE_OK);
  NEED(sectile_vk_prepare(sectile_runtime_device(runtime), (const SectilePlan* const*)plan, 2, 0, 0, ready) ==
       SECTILE_OK);
  for (i = 0; i < kCount; ++i) in[i] = (float)((i * 2654435761u) >> 8);
  for (i = 0; i < 3; ++i) NEED(sectile_buffer_create(runtime, sizeof in, 0, &buffer[i]) == SECTILE_OK);
  memset(out, 0xcd, sizeof out);
  NEED(sectile_buffer_upload(buffer[0], 0, in, sizeof in) == SECTILE_OK);
  NEED(sectile_buffer_upload(buffer[1], 0, out, sizeof out) == SECTILE_OK);
  NEED(sectile_buffer_upload(buffer[2], 0, out, sizeof out) == SECTILE_OK);
  CHECK(sectile_buffer_upload(buffer[0], 4, in, sizeof in) == SECTILE_TOO_SMALL);
  CHECK(sectile_buffer_size(buffer[0]) == sizeof in && sectile_buffer_mapped(buffer[0]) == NULL);
  first[0].address = sectile_buffer_address(buffer[0]);
  first[1].address = second[0].address = sectile_buffer_address(buffer[1]);
  second[1].address = sectile_buffer_address(buffer[2]);
  first[0].bytes = first[1].bytes = second[0].bytes = second[1].bytes = sizeof in;
  memset(recordings, 0, sizeof recordings);
  for (i = 0; i < 2; ++i) {
    recordings[i].executable = ready[i];
    recordings[i].operands = i == 0 ? first : second;
    recordings[i].operand_count = 2;
  }
  NEED(sectile_runtime_run(runtime, recordings, 2) == SECTILE_OK);
  NEED(sectile_buffer_download(buffer[1], 0, out, sizeof out) == SECTILE_OK);
  for (i = 0; i < kCount; ++i)
    if (out[i / kColumns + i % kColumns * kRows] != in[i]) break;
  CHECK(i == kCount);
  NEED(sectile_buffer_download(buffer[2], 0, out, sizeof out) == SECTILE_OK);
  CHECK(memcmp(in, out, sizeof in) == 0);

  /* Bad operands are refused before a command is written. */
  second[1].address = 0;
  CHECK(sectile_runtime_run(runtime, recordings, 2) == SECTILE_MISSING);
  CHECK(strcmp(sectile_last_error(), "missing: plan 1: dst: address 0") == 0);
  second[1] = second[0];
  CHECK(sectile_runtime_run(runtime, recordings, 2) == SECTILE_OVERLAP);
  CHECK(strlen(sectile_last_error()) > 0);
  recordings[1].operand_count = 17;
  CHECK(sectile_runtime_run(runtime, recordings, 2) == SECTILE_INVALID_PROBLEM);
  recordings[1].operand_count = 2;
  recordings[1].executable = NULL;
  CHECK(sectile_runtime_run(runtime, recordings, 2) == SECTILE_MISSING);
  CHECK(sectile_runtime_run(runtime, NULL, 1) == SECTILE_MISSING);
  for (i = 0; i < 3; ++i) sectile_buffer_destroy(buffer[i]);
  for (i = 0; i < 2; ++i) sectile_vk_executable_destroy(ready[i]);
  for (i = 0; i < 2; ++i) sectile_plan_destroy(plan[i]);
  pipelines = sectile_vk_device_pipelines(sectile_runtime_device(runtime));
  CHECK(pipelines == 1 || pipelines == 2); /* the plans may share one */
  CHECK(sectile_vk_device_trim(sectile_runtime_device(runtime)) == pipelines);
  CHECK(sectile_vk_device_pipelines(sectile_runtime_device(runtime)) == 0);
}

static void adoptions(void) {
  SectileVkAdoption adoption = SECTILE_INIT(SectileVkAdoption);
  SectileVkDevice* device = NULL;
  SectileVkWants* wants = NULL;
  CHECK(sectile_vk_device_create(&adoption, &device) == SECTILE_MISSING);
  CHECK(strstr(sectile_last_error(), "everything_wanted") != NULL);
  adoption.everything_wanted = 1;
  CHECK(sectile_vk_device_create(&adoption, &device) == SECTILE_MISSING);
  CHECK(sectile_vk_wants_create(NULL, NULL, NULL, &wants) == SECTILE_MISSING);
  CHECK(sectile_vk_record(NULL, NULL, NULL, 0) == SECTILE_MISSING);
  CHECK(device == NULL && wants == NULL);
  sectile_vk_wants_destroy(NULL);
  sectile_vk_device_destroy(NULL);
  sectile_vk_executable_destroy(NULL);
}

/* What the log was told. */
typedef struct Told {
  int warnings, infos;
  char last[512];
} Told;
static void tell(void* user, SectileLogLevel level, const char* text) {
  Told* told = (Told*)user;
  ++*(level == SECTILE_LOG_WARNING ? &told->warnings : &told->infos);
  strncpy(told->last, text, sizeof told->last - 1);
}

static void classes_and_packs(void) {
  SectileProfile* profile = NULL;
  SectileProfile* with = NULL;
  SectilePack* pack = NULL;
  NEED(sectile_profile_target("nvidia-hopper", &profile) == SECTILE_OK);
  CHECK(strstr(sectile_profile_class(profile), "hopper") != NULL);
  CHECK(sectile_profile_with_class(profile, "{}", &with) == SECTILE_PARSE);
  CHECK(sectile_profile_with_class(profile, NULL, &with) == SECTILE_MISSING);
  CHECK(sectile_profile_with_canary(profile, "[", &with) == SECTILE_PARSE);
  NEED(sectile_profile_with_canary(profile, "{\"kinds\":[],\"rows\":[]}", &with) == SECTILE_OK);
  CHECK(strcmp(sectile_profile_json(with), sectile_profile_json(profile)) == 0);
  sectile_profile_destroy(with);
  CHECK(sectile_pack_read("/no/such/file", &pack) == SECTILE_MISSING);
  CHECK(sectile_pack_read(NULL, &pack) == SECTILE_MISSING);
  CHECK(sectile_pack_open("SECTILEP", 8, &pack) == SECTILE_PARSE);
  CHECK(sectile_pack_open(NULL, 0, &pack) == SECTILE_PARSE);
  CHECK(pack == NULL);
  sectile_pack_destroy(NULL);
  sectile_profile_destroy(profile);
}

/* Here is no GPU of NVIDIA's: what can be said without one. */
static void cuda(void) {
  SectileCudaAdoption adoption = SECTILE_INIT(SectileCudaAdoption);
  SectileCudaDevice* device = NULL;
  SectileProfile* profile = NULL;
  const SectileStatus there = sectile_cuda_profile(0, &profile);
  CHECK(there == SECTILE_OK || there == SECTILE_MISSING || there == SECTILE_UNSUPPORTED);
  CHECK((there == SECTILE_OK) == (profile != NULL));
  sectile_profile_destroy(profile);
  CHECK(sectile_cuda_device_create(&adoption, &device) != SECTILE_OK);
  CHECK(device == NULL);
  CHECK(sectile_cuda_prepare(NULL, NULL, 1, 0, 0, NULL) != SECTILE_OK);
  CHECK(sectile_cuda_launch(NULL, NULL, NULL, 0) != SECTILE_OK);
  sectile_cuda_device_destroy(NULL);
  sectile_cuda_executable_destroy(NULL);
}

static int depth = 0, uses = 0;
static void lock(void* user) {
  ++*(int*)user;
  ++uses;
}
static void unlock(void* user) { --*(int*)user; }

static void runtimes(const char* selector) {
  SectileRuntimeOptions options = SECTILE_INIT(SectileRuntimeOptions);
  SectileRuntime* runtime = NULL;
  SectileVkHandles handles = SECTILE_INIT(SectileVkHandles);
  SectileMissingFeature missing = SECTILE_INIT(SectileMissingFeature);
  SectilePlan* plan = NULL;
  Told told;
  uint32_t i, changed = 9;
  memset(&told, 0, sizeof told);
  options.selector = "no such device";
  CHECK(sectile_runtime_open(&options, &runtime) == SECTILE_MISSING);
  options.selector = selector;
  options.canary = 3;
  CHECK(sectile_runtime_open(&options, &runtime) == SECTILE_INVALID_PROBLEM);
  options.canary = 1;
  options.lock_queue = lock;
  CHECK(sectile_runtime_open(&options, &runtime) == SECTILE_MISSING);
  options.unlock_queue = unlock;
  options.queue_user = &depth;
  options.log.function = tell;
  options.log.user = &told;
  NEED(sectile_runtime_open(&options, &runtime) == SECTILE_OK);
  NEED(sectile_runtime_vk(runtime, &handles) == SECTILE_OK);
  CHECK(handles.device != NULL && handles.queue != NULL && handles.get_instance_proc_addr != NULL);
  for (i = 0; i < sectile_vk_device_missing_count(sectile_runtime_device(runtime)); ++i) {
    NEED(sectile_vk_device_missing(sectile_runtime_device(runtime), i, &missing) == SECTILE_OK);
    CHECK(missing.offered == 0 && strlen(missing.name) > 0 && strlen(missing.cost) > 0);
  }
  CHECK(sectile_vk_device_missing(sectile_runtime_device(runtime), i, &missing) == SECTILE_MISSING);
  NEED(sectile_plan_create(sectile_runtime_profile(runtime), "permute f32 4x4 axes=1,0", NULL, &plan) == SECTILE_OK);
  CHECK(sectile_runtime_test(runtime, plan, &changed) == SECTILE_OK);
  CHECK(changed == 0);
  sectile_plan_destroy(plan);
  uses = 0;
  permutes(runtime);
  CHECK(uses > 0 && depth == 0);
  CHECK(told.infos > 0);
  CHECK(strstr(told.last, "1 pipeline made in ") != NULL);
  sectile_runtime_destroy(runtime);
  sectile_runtime_destroy(NULL);
}

/* The list has the device that was asked for, and says what opens it. */
static void devices(const char* wanted) {
  SectileDeviceList* list = NULL;
  SectileDeviceInfo info = SECTILE_INIT(SectileDeviceInfo);
  SectileRuntimeOptions options = SECTILE_INIT(SectileRuntimeOptions);
  SectileRuntime* runtime = NULL;
  uint32_t i, found = 0;
  CHECK(sectile_device_list_create(NULL) == SECTILE_MISSING);
  NEED(sectile_device_list_create(&list) == SECTILE_OK);
  for (i = 0; i < sectile_device_list_count(list); ++i) {
    NEED(sectile_device_list_device(list, i, &info) == SECTILE_OK);
    CHECK(strlen(info.uuid) == 32 && strchr(info.api, '.') != NULL && strlen(info.driver) > 0);
    CHECK(strstr(sectile_device_list_json(list), info.uuid) != NULL);
    if (strstr(info.name, wanted) == NULL) continue;
    ++found;
    CHECK(strlen(info.kind) > 0 && strcmp(info.unusable, "") == 0);
    options.selector = info.selector;
    options.canary = 2;
    CHECK(sectile_runtime_open(&options, &runtime) == SECTILE_OK);
    if (runtime == NULL) continue;
    CHECK(strcmp(sectile_profile_name(sectile_runtime_profile(runtime)), info.name) == 0);
    sectile_runtime_destroy(runtime);
  }
  CHECK(found == 1);
  CHECK(sectile_device_list_device(list, i, &info) == SECTILE_MISSING);
  info.size = 0;
  CHECK(sectile_device_list_device(list, 0, &info) == SECTILE_MISSING);
  /* An older caller's struct ends after `selector`. */
  info.size = offsetof(SectileDeviceInfo, name);
  info.name = "untouched";
  CHECK(sectile_device_list_device(list, 0, &info) == SECTILE_OK);
  CHECK(strncmp(info.selector, "vulkan:", 7) == 0 && strcmp(info.name, "untouched") == 0);
  sectile_device_list_destroy(list);
  sectile_device_list_destroy(NULL);
}

int main(int argc, char** argv) {
  statuses();
  profiles();
  plans();
  adoptions();
  classes_and_packs();
  cuda();
  if (argc > 1) {
    runtimes(argv[1]);
    devices(argv[1]);
  }
  if (failures == 0) printf("the C interface holds\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
