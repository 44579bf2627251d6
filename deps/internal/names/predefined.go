package names

import (
	"slices"
	"strings"
)

// Predefined says whether a compiler may have a macro of the name that no
// source defines. Such a name is reserved, or one of those that the systems and
// OpenCL's own headers took.
func Predefined(name string) bool {
	return isReserved(name) || isLanguages(name)
}

// Compilers says whether a name that a source defines may be one that a
// compiler has defined already, and with another value.
func Compilers(name string) bool {
	return isReserved(name) && (strings.HasSuffix(name, "__") || HasAnyPrefix(name, reserved)) ||
		isLanguages(name)
}

func isReserved(name string) bool {
	return len(name) > 1 && name[0] == '_' && (name[1] == '_' || name[1] >= 'A' && name[1] <= 'Z')
}

var (
	starts = strings.Fields(`cl_ CL_ CLK_ FP_ FLT_ DBL_ HALF_ M_ _cl_ pocl POCL HIP hipThread hipBlock hipGrid ROCM
		launch_bounds_impl select_impl_
		as_ convert_ atom_ atomic_ ATOMIC_ native_ half_ vload vstore read_image write_image get_image_ get_global_
		get_local_ get_group_ get_num_ get_work_ get_sub_group_ sub_group_ work_group_ async_work_group_ fast_
		shuffle LLVM_ CLANG_ IMG_ SPIR_ MAX_KERNEL_ intel_ amd_ qcom_ arm_`)
	reserved = strings.Fields(`__C __O __clang __llvm __LLVM __GNU __gnu __GXX __GCC __GLIBCXX_
		__NV __HIP __AMD __amd __gfx __GFX __STDC __cplusplus __cpp_ __has_ __INTEL __SPIR __ENDIAN __SIZEOF __VERSION
		__R600 __IMAGE __EMBEDDED __FAST __FINITE __linux __unix __x86 __i3 __i4 __i5 __i6 __arm __aarch
		__ARM __FLT __DBL __INT __UINT __BYTE __EDG __POCL __APPLE __MAC _MSC _WIN _LP64 __LP64 _ILP32
		_OPENMP _OPENACC _GNU_SOURCE _REENTRANT _FORTIFY __NO_ __USER_LABEL __REGISTER __DEPRECATED __EXCEPTIONS`)
)

// isLanguages says whether name is one of those that systems and the headers of OpenCL took, or
// of a function or a number of OpenCL C. Drivers
// have macros for many: as_int in all, and min, which PoCL renames.
func isLanguages(name string) bool { return HasAnyPrefix(name, starts) || slices.Contains(taken, name) }

var taken = strings.Fields(`
			linux unix i386 arm sparc mips hpux sun sgi vax WIN32 NULL INFINITY NAN MAXFLOAT HUGE_VAL HUGE_VALF
			CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX SCHAR_MIN UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN UINT_MAX
			LONG_MAX LONG_MIN ULONG_MAX MAX_WORK_DIM ALIGN4 ALIGN8 INTTYPE inline bool true false kernel_exec
			size_t ptrdiff_t intptr_t uintptr_t double nan printf
			abs abs_diff acos acosh acospi add_sat all any asin asinh asinpi atan atan2 atan2pi atanh atanpi barrier
			bit_reverse bitfield_extract_signed bitfield_extract_unsigned bitfield_insert bitselect cbrt ceil clamp clz
			copysign cos cosh cospi cross ctz degrees distance dot dot_acc_sat erf erfc exp exp10 exp2 expm1 fabs fdim floor
			fma fmax fmin fmod fract frexp hadd hypot ilogb isequal isfinite isgreater isgreaterequal isinf isless
			islessequal islessgreater isnan isnormal isnotequal isordered isunordered ldexp length lgamma lgamma_r log log10
			log1p log2 logb mad mad24 mad_hi mad_sat max maxmag mem_fence min minmag mix modf mul24 mul_hi nextafter
			normalize popcount pow pown powr prefetch radians read_mem_fence remainder remquo rhadd rint rootn rotate round
			rsqrt select sign signbit sin sincos sinh sinpi smoothstep sqrt step sub_sat tan tanh tanpi tgamma trunc upsample
			wait_group_events write_mem_fence to_global to_local to_private get_fence get_default_queue enqueue_kernel
			retain_event release_event create_user_event is_valid_event set_user_event_status ndrange_1D ndrange_2D ndrange_3D`)
