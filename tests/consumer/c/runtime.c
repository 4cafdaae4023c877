/* As ../runtime.cpp, with the C interface: a device of the application's own volk, and beside it Sectile's, which
 * computes. */
#include <sectile/sectile.h>

#include <stdio.h>

int own_device_opens(void);
int own_device_works(void);
void own_device_closes(void);
size_t own_table_bytes(void);

static int failed(const char* what) {
  fprintf(stderr, "%s (%s)\n", what, sectile_last_error());
  return 1;
}

int main(void) {
  enum { kRows = 3, kColumns = 5 };
  float in[kRows * kColumns], out[kRows * kColumns];
  SectileRuntime* runtime = NULL;
  SectilePlan* plan = NULL;
  SectileVkExecutable* ready = NULL;
  SectileBuffer* buffers[2] = {NULL, NULL};
  SectileOperandAddress addresses[2];
  SectileVkRecording recording;
  int i;
  for (i = 0; i < kRows * kColumns; ++i) in[i] = (float)i;
  if (!own_device_opens()) return failed("the application's volk opens no device");
  if (sectile_runtime_open(NULL, &runtime) != SECTILE_OK) return failed("no runtime");
  if (!own_device_works()) return failed("the application's device fails beside Sectile's");
  if (sectile_plan_create(sectile_runtime_profile(runtime), "permute f32 3x5 axes=1,0", NULL, &plan) != SECTILE_OK ||
      sectile_vk_prepare(sectile_runtime_device(runtime), (const SectilePlan* const*)&plan, 1, 0, 0, &ready) != SECTILE_OK)
    return failed("no plan");
  for (i = 0; i < 2; ++i) {
    if (sectile_buffer_create(runtime, sizeof in, 0, &buffers[i]) != SECTILE_OK) return failed("no buffer");
    addresses[i].address = sectile_buffer_address(buffers[i]);
    addresses[i].bytes = sizeof in;
  }
  recording.executable = ready;
  recording.operands = addresses;
  recording.operand_count = 2;
  recording.reserved = 0;
  if (sectile_buffer_upload(buffers[0], 0, in, sizeof in) != SECTILE_OK ||
      sectile_runtime_run(runtime, &recording, 1) != SECTILE_OK ||
      sectile_buffer_download(buffers[1], 0, out, sizeof out) != SECTILE_OK)
    return failed("not run");
  for (i = 0; i < kRows * kColumns; ++i)
    if (out[i % kColumns * kRows + i / kColumns] != in[i]) return failed("a wrong result");
  for (i = 0; i < 2; ++i) sectile_buffer_destroy(buffers[i]);
  sectile_vk_executable_destroy(ready);
  sectile_plan_destroy(plan);
  if (!own_device_works()) return failed("the application's device fails after Sectile's has run");
  sectile_runtime_destroy(runtime);
  own_device_closes();
  printf("own volk of %lu bytes, and a permute of Sectile's\n", (unsigned long)own_table_bytes());
  return 0;
}
