package cl

import "github.com/kernstash/kernstash/internal/reentry"

// stepAside has the layer take no notice of the programs that this thread creates. Drivers,
// and the layers with them, are loaded before there is a context to create programs in.
var stepAside = reentry.Of("kernstash_layer_aside", "libkernstash_opencl_layer.so")
