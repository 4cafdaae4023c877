/* Two plans, the second of which reads what the first one wrote, on Sectile's small runtime: for programs that have no
 * Vulkan device of their own. No Vulkan header is needed.
 *
 *   c_runtime [--validation] [--explain] [DEVICE]      DEVICE: part of a device's name; without it a GPU before a CPU
 */
#include "clock.h"
#include "work.h"

static int messages = 0;

/* What the library and the validation layer have to say. It is called in the thread that called the library. */
static void on_log(void* user, SectileLogLevel level, const char* text) {
  const int validation = *(const int*)user;
  if (level == SECTILE_LOG_WARNING) fprintf(stderr, "warning: %s\n", text);
  if (validation && level == SECTILE_LOG_WARNING) ++messages;
}

/* Operands in the plan's order, found by their names; scratch where a plan wants some. */
static void bind(SectileRuntime* runtime, SectilePlan* const* plans, SectileVkExecutable* const* ready,
                 SectileBuffer* const* buffers, SectileBuffer** scratch, SectileOperandAddress (*operands)[8],
                 SectileVkRecording* recordings) {
  int i;
  memset(recordings, 0, 2 * sizeof *recordings);
  for (i = 0; i < 2; ++i) {
    const uint32_t operand_count = sectile_plan_operand_count(plans[i]);
    uint32_t j;
    if (sectile_plan_scratch_bytes(plans[i]) > 0)
      need(sectile_buffer_create(runtime, sectile_plan_scratch_bytes(plans[i]), 0, &scratch[i]), "scratch");
    for (j = 0; j < operand_count && j < 8; ++j) {
      SectileOperandInfo info = SECTILE_INIT(SectileOperandInfo);
      SectileBuffer* buffer;
      need(sectile_plan_operand(plans[i], j, &info), "operand");
      buffer = info.role == SECTILE_SCRATCH ? scratch[i] : buffers[buffer_of(i, info.name)];
      operands[i][j].address = sectile_buffer_address(buffer);
      operands[i][j].bytes = sectile_buffer_size(buffer);
    }
    recordings[i].executable = ready[i];
    recordings[i].operands = operands[i];
    recordings[i].operand_count = operand_count;
  }
}

int main(int count, char** words) {
  SectileRuntimeOptions options = SECTILE_INIT(SectileRuntimeOptions);
  SectilePlanOptions plan_options = SECTILE_INIT(SectilePlanOptions);
  SectileRuntime* runtime = NULL;
  SectileVkDevice* device;
  SectilePlan* plans[2] = {NULL, NULL};
  SectileVkExecutable* ready[2] = {NULL, NULL};
  SectileVkExecutable* again[2] = {NULL, NULL};
  SectileBuffer* buffers[kBuffers];
  SectileBuffer* scratch[2] = {NULL, NULL};
  SectileOperandAddress operands[2][8];
  SectileVkRecording recordings[2];
  float* host[kBuffers];
  double start, first, second;
  int validation = 0, i, wrong;

  for (i = 1; i < count; ++i) {
    if (strcmp(words[i], "--validation") == 0) {
      validation = 1;
    } else if (strcmp(words[i], "--explain") == 0) {
      plan_options.explain = 1;
    } else {
      options.selector = words[i];
    }
  }
  options.validation = (uint32_t)validation;
  options.canary = 2; /* never: these plans are in f32 (docs/guide/embedding.md says what the canary tests) */
  options.log.function = on_log;
  options.log.user = &validation;
  need(sectile_runtime_open(&options, &runtime), "open");
  device = sectile_runtime_device(runtime);
  printf("device: %s\n", sectile_profile_name(sectile_runtime_profile(runtime)));

  for (i = 0; i < 2; ++i) {
    need(sectile_plan_create(sectile_runtime_profile(runtime), kProblems[i], &plan_options, &plans[i]), kProblems[i]);
    printf("%s\n  %s\n", kProblems[i], sectile_plan_text(plans[i]));
    if (plan_options.explain) printf("%s\n", sectile_plan_explanation(plans[i]));
  }

  /* Compiles once: the second time every pipeline is there. */
  start = microseconds();
  need(sectile_vk_prepare(device, (const SectilePlan* const*)plans, 2, 0, 0, ready), "prepare");
  first = microseconds() - start;
  start = microseconds();
  need(sectile_vk_prepare(device, (const SectilePlan* const*)plans, 2, 0, 0, again), "prepare");
  second = microseconds() - start;

  for (i = 0; i < kBuffers; ++i) {
    const size_t bytes = kCounts[i] * sizeof(float);
    host[i] = (float*)malloc(bytes);
    if (host[i] == NULL) return 1;
    fill(i, host[i]);
    need(sectile_buffer_create(runtime, bytes, 0, &buffers[i]), "buffer");
    need(sectile_buffer_upload(buffers[i], 0, host[i], bytes), "upload");
  }

  bind(runtime, plans, ready, buffers, scratch, operands, recordings);

  /* Records both, with a barrier between them, submits and waits. */
  start = microseconds();
  need(sectile_runtime_run(runtime, recordings, 2), "run");
  printf("prepare first %.0f us, second %.0f us, run %.0f us\n", first, second, microseconds() - start);

  need(sectile_buffer_download(buffers[kB], 0, host[kB], kCounts[kB] * sizeof(float)), "download");
  need(sectile_buffer_download(buffers[kD], 0, host[kD], kCounts[kD] * sizeof(float)), "download");
  wrong = wrong_results(host[kA], host[kB], host[kC], host[kBias], host[kD]);

  for (i = 0; i < kBuffers; ++i) {
    sectile_buffer_destroy(buffers[i]);
    free(host[i]);
  }
  for (i = 0; i < 2; ++i) {
    sectile_buffer_destroy(scratch[i]);
    sectile_vk_executable_destroy(ready[i]);
    sectile_vk_executable_destroy(again[i]);
    sectile_plan_destroy(plans[i]);
  }
  sectile_runtime_destroy(runtime);
  printf("%d of %d results wrong, %d messages\n%s\n", wrong, kM * (kK + kN), messages,
         wrong + messages == 0 ? "ok" : "FAILED");
  return wrong + messages == 0 ? 0 : 1;
}
