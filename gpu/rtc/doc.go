// Package rtc compiles CUDA C++ and HIP C++ at run time, with NVRTC and HIPRTC,
// whose interfaces are one but for their names, through a cache of what they made;
// and what they make further, with nvJitLink and libnvvm.
//
// [Open] finds a library; [Library.Compile] compiles with it, and [Compiler]
// does so through a [kernstash.Cache]. Neither needs a GPU, a driver or cgo: what
// is compiled for is an architecture, which the options name, and what is made
// is bytes. Package gpu/cuda makes programs of them.
//
// nvJitLink, which links PTX, LTO IR and machine code, and libnvvm, which compiles NVVM IR, are asked in the same
// way: a [Request] has Inputs then, and no Source.
//
// NVRTC from 12.4 on goes on with --restrict in later compiles of a process, so what is made after such a compile is not
// kept. Compiles that other code of the process asks NVRTC for are not seen.
//
// An [Output] holds everything that the library would answer after the compile: each form of code,
// the log, and the names that name expressions were lowered to, each exactly as it would have been.
package rtc
