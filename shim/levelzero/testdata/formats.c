/*
 * formats.c: why modules that read images are the driver's to build. An image of a format
 * that OpenCL has not is refused as an argument of a kernel that was built of SPIR-V, and
 * taken by the same kernel of native code.
 *
 *	formats IMAGES.spv
 */
#include "ze_test.h"

static ze_result_t set(ze_module_handle_t m, ze_image_format_layout_t layout, ze_image_format_type_t type)
{
	ze_image_desc_t image = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC, .type = ZE_IMAGE_TYPE_2D, .width = 16, .height = 16, .depth = 1,
		.format = {.layout = layout, .type = type, .x = ZE_IMAGE_FORMAT_SWIZZLE_R, .y = ZE_IMAGE_FORMAT_SWIZZLE_G,
			.z = ZE_IMAGE_FORMAT_SWIZZLE_B, .w = ZE_IMAGE_FORMAT_SWIZZLE_A}};
	ze_kernel_desc_t kernel = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "g"};
	ze_image_handle_t i;
	ze_kernel_handle_t k;
	check(zeImageCreate(context, device, &image, &i), "zeImageCreate");
	check(zeKernelCreate(m, &kernel, &k), "zeKernelCreate");
	ze_result_t r = zeKernelSetArgumentValue(k, 0, sizeof(i), &i);
	zeKernelDestroy(k);
	zeImageDestroy(i);
	return r;
}

int main(int argc, char **argv)
{
	size_t size, n;
	if (argc < 2)
		return 2;
	unsigned char *code = file(argv[1], &size);
	start();
	ze_module_desc_t d = described(ZE_MODULE_FORMAT_IL_SPIRV, code, size, NULL);
	ze_module_handle_t m[2];
	check(zeModuleCreate(context, device, &d, &m[0], NULL), "zeModuleCreate");
	unsigned char *native = native_of(m[0], &n);
	d = described(ZE_MODULE_FORMAT_NATIVE, native, n, NULL);
	check(zeModuleCreate(context, device, &d, &m[1], NULL), "zeModuleCreate");
	for (int i = 0; i < 2; i++)
		printf("%s %x %x\n", i == 0 ? "SPIR-V" : "native", set(m[i], ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM),
			set(m[i], ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ZE_IMAGE_FORMAT_TYPE_UINT));
	rest();
	return 0;
}
