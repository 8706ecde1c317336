/* Runs a model from C: `c_api <model> <model that fails>`. Numbers are printed so that none of their bits is lost. */
#include <stdio.h>
#include <stdlib.h>
#include <wisp/c.h>

static void print_tensor(const wisp_tensor* tensor) {
  const int64_t* shape = wisp_tensor_shape(tensor);
  printf("%d [", (int)wisp_tensor_dtype(tensor));
  for (size_t i = 0; i < wisp_tensor_ndim(tensor); ++i) printf("%s%d", i ? ", " : "", (int)shape[i]);
  printf("] %d", (int)wisp_tensor_nbytes(tensor));
  if (wisp_tensor_dtype(tensor) == WISP_FLOAT32) {
    const float* data = wisp_tensor_data(tensor);
    for (size_t i = 0; i < wisp_tensor_numel(tensor); ++i) printf(" %a", data[i]);
  }
  printf("\n");
}

static void check_failures(const wisp_module* module) {
  int64_t shape[] = {2, 5}, negative[] = {-1};
  float data[10] = {0};
  wisp_tensor* wrong = wisp_tensor_new(data, WISP_FLOAT32, shape, 2);
  const wisp_tensor* nothing = NULL;
  wisp_tensor** outputs = NULL;
  size_t count = 0;
  if (!wisp_module_load("nowhere.pt")) puts(wisp_last_error());
  if (!wisp_module_load(NULL)) puts(wisp_last_error());
  if (!wisp_tensor_new(data, (wisp_dtype)77, shape, 2)) puts(wisp_last_error());
  if (!wisp_tensor_new(data, WISP_FLOAT32, negative, 1)) puts(wisp_last_error());
  if (!wisp_tensor_new(NULL, WISP_FLOAT32, shape, 2)) puts(wisp_last_error());
  if (wisp_module_forward(module, &nothing, 1, &outputs, &count)) puts(wisp_last_error());
  if (wisp_module_run(module, "nothing", NULL, 0, &outputs, &count)) puts(wisp_last_error());
  if (!wisp_tensor_data(NULL) && !wisp_tensor_shape(NULL) && !wisp_tensor_ndim(NULL) && !wisp_tensor_numel(NULL) &&
      !wisp_tensor_nbytes(NULL) && !wisp_tensor_dtype(NULL)) {
    puts(wisp_last_error());
  }
  if (!wisp_tensor_new(data, WISP_FLOAT32, NULL, 2)) puts(wisp_last_error());
  if (wisp_module_forward(module, NULL, 1, &outputs, &count)) puts(wisp_last_error());
  if (wisp_module_forward(NULL, NULL, 0, &outputs, &count)) puts(wisp_last_error());
  if (wisp_module_run(module, NULL, NULL, 0, &outputs, &count)) puts(wisp_last_error());
  if (wisp_module_forward(module, NULL, 0, NULL, NULL)) puts(wisp_last_error());
  if (wisp_module_forward(module, (const wisp_tensor* const*)&wrong, 1, &outputs, &count)) puts(wisp_last_error());
  wisp_tensor_free(wrong);
  wisp_tensor_free(NULL);
  wisp_tensors_free(NULL, 0);
  wisp_module_free(NULL);
}

int main(int argc, char** argv) {
  float data[] = {0.f, 0.5f, 1.f, 1.5f, 2.f, 2.5f};
  unsigned char flags[] = {0, 1, 255};
  int64_t shape[] = {2, 3}, three = 3;
  const wisp_tensor* inputs[2];
  wisp_tensor** outputs = NULL;
  wisp_module* module = argc > 1 ? wisp_module_load(argv[1]) : NULL;
  size_t count = 0;
  if (!module || wisp_set_num_threads(1)) {
    fprintf(stderr, "%s\n", wisp_last_error());
    return 1;
  }
  inputs[0] = wisp_tensor_wrap(data, WISP_FLOAT32, shape, 2);
  inputs[1] = wisp_tensor_new(flags, WISP_BOOL, &three, 1);
  if (wisp_module_forward(module, inputs, 2, &outputs, &count)) {
    fprintf(stderr, "%s\n", wisp_last_error());
    return 1;
  }
  for (size_t i = 0; i < count; ++i) print_tensor(outputs[i]);
  wisp_tensors_free(outputs, count);
  wisp_tensor_free((wisp_tensor*)inputs[0]);
  wisp_tensor_free((wisp_tensor*)inputs[1]);
  puts("---");
  check_failures(module);
  wisp_module_free(module);
  return 0;
}
