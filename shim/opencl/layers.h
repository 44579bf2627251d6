/* layers.h: how the layer comes into programs, for those that start them. */
#pragma once

#define LAYER_RUNTIME "OpenCL"
#define LAYER_FILE "libkernstash_opencl_layer.so"
#define LAYERS "OPENCL_LAYERS" /* the variable in which the loader finds layers */
