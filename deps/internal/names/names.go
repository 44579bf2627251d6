// Package names has the names that make a build depend on more than its source, and those
// that compilers define.
package names

import (
	"slices"
	"strings"
	"sync"

	"github.com/kernstash/kernstash/deps/internal/lexer"
)

// PathNames are what puts paths into what is built. assert is a macro of the
// compiler's own in NVRTC; elsewhere it comes from a header that names __FILE__.
// In C++ a function's full name may have the place of a lambda in it.
var PathNames = strings.Fields(namesOfPaths)

const namesOfPaths = "__FILE__ __BASE_FILE__ __FILE_NAME__ __builtin_FILE __builtin_FILE_NAME" +
	" __builtin_source_location source_location assert" +
	" __PRETTY_FUNCTION__ __FUNCSIG__ __builtin_FUNCSIG"

// PathParts is how many of them are made of the name of a file.
const PathParts = 5

// IsPathPiece reports whether name is a good part of one that puts paths into
// what is built.
func IsPathPiece(name string) bool {
	return slices.ContainsFunc(PathNames[:PathParts], func(n string) bool {
		return len(name) > 2 && len(name) < len(n) && strings.Contains(n, name)
	})
}

// Covered reports whether a name is a sequence of two to so many pieces, at most.
func Covered(name string, most int, isPiece func(string) bool) bool {
	need := make([]int, len(name)+1) // pieces for the name up to here; 0: impossible
	for end := 1; end <= len(name); end++ {
		for start := range end {
			piece := name[start:end]
			if start > 0 && need[start] == 0 || len(piece) == len(name) || !isPiece(piece) {
				continue
			}
			if n := need[start] + 1; need[end] == 0 || n < need[end] {
				need[end] = n
			}
		}
	}
	n := need[len(name)]
	return n > 0 && n <= most
}

// Pasted reports whether one of some names is a sequence of two to FewPieces names that are
// met, or numbers.
func Pasted(some []string, met map[string]bool) bool {
	isPiece := func(piece string) bool { return met[piece] || strings.Trim(piece, "0123456789") == "" }
	return slices.ContainsFunc(some, func(name string) bool { return Covered(name, FewPieces, isPiece) })
}

// Forbidden are the names that a source must not make by pasting tokens.
var Forbidden = strings.Fields(ForbiddenNames)

// ForbiddenNames are the same as one text.
const ForbiddenNames = "__DATE__ __TIME__ __TIMESTAMP__ __has_include __has_include_next __has_include__" +
	" __has_include_next__ __has_embed"

// Assemblers introduce inline assembly.
var Assemblers = strings.Fields(assemblerNames)

const assemblerNames = "asm __asm __asm__"

// longest is the length of the longest name that counts.
const longest = len("__builtin_source_location")

// Counting are all names that count, one after the other, with a character between
// them that no identifier has in it.
const Counting = " " + ForbiddenNames + " " + assemblerNames + " " + namesOfPaths + " "

// pairs holds which two characters follow one another in them, so that the
// many identifiers that are in none cost one look.
var pairs = pairsOf(Counting)

func pairsOf(text string) (all lexer.Pairs) {
	for i := range len(text) - 1 {
		all.Add(text[i], text[i+1])
	}
	return all
}

// Counts reports whether an identifier is a part of a name that counts.
func Counts(name []byte) bool { return MayCount(name) && strings.Contains(Counting, string(name)) }

// MayCount is Counts that may be wrong of a name that does not count.
func MayCount(name []byte) bool {
	if len(name) > longest {
		return false
	}
	for i := 1; i < len(name); i++ {
		if !pairs.Has(name[i-1], name[i]) {
			return false
		}
	}
	return true
}

// AnyPieces and FewPieces are of how many pieces a name may be put together.
// The names in a library's headers add up to anything if they are taken letter
// by letter.
const (
	AnyPieces = longest
	FewPieces = 4
)

// Telling reports whether a piece is good for little but a forbidden name, so that
// it counts even if the other pieces come from elsewhere, as from options.
func Telling(piece string) bool {
	for _, name := range Forbidden {
		if len(piece) < len(name) && (len(piece) >= 2 && strings.HasPrefix(name, piece) ||
			len(piece) >= 3 && strings.HasSuffix(piece, "__") && strings.HasSuffix(name, piece)) {
			return true
		}
	}
	return false
}

// HasAnyPrefix reports whether a word begins with one of prefixes.
func HasAnyPrefix(word string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
}

// Predefined reports whether a compiler may have a macro of the name that no
// source defines. Such a name is reserved, or one of those that the systems and
// OpenCL's own headers took.
func Predefined(name string) bool { return isReserved(name) || isLanguages(name) }

// Compilers reports whether a name that a source defines may be one that a
// compiler has defined already, and with another value.
func Compilers(name string) bool {
	return isReserved(name) && (strings.HasSuffix(name, "__") || HasAnyPrefix(name, reserved())) ||
		isLanguages(name)
}

// lazyFields returns what splits a text at its first call: most processes do not need the names.
func lazyFields(text string) func() []string {
	return sync.OnceValue(func() []string { return strings.Fields(text) })
}

func isReserved(name string) bool {
	return len(name) > 1 && name[0] == '_' && (name[1] == '_' || name[1] >= 'A' && name[1] <= 'Z')
}

var (
	starts = lazyFields(`cl_ CL_ CLK_ FP_ FLT_ DBL_ HALF_ M_ _cl_ pocl POCL HIP hipThread hipBlock hipGrid ROCM
		launch_bounds_impl select_impl_
		as_ convert_ atom_ atomic_ ATOMIC_ native_ half_ vload vstore read_image write_image get_image_ get_global_
		get_local_ get_group_ get_num_ get_work_ get_sub_group_ sub_group_ work_group_ async_work_group_ fast_
		shuffle LLVM_ CLANG_ IMG_ SPIR_ MAX_KERNEL_ intel_ amd_ qcom_ arm_`)
	reserved = lazyFields(`__C __O __clang __llvm __LLVM __GNU __gnu __GXX __GCC __GLIBCXX_
		__NV __HIP __AMD __amd __gfx __GFX __STDC __cplusplus __cpp_ __has_ __INTEL __SPIR __ENDIAN __SIZEOF __VERSION
		__R600 __IMAGE __EMBEDDED __FAST __FINITE __linux __unix __x86 __i3 __i4 __i5 __i6 __arm __aarch
		__ARM __FLT __DBL __INT __UINT __BYTE __EDG __POCL __APPLE __MAC _MSC _WIN _LP64 __LP64 _ILP32
		_OPENMP _OPENACC _GNU_SOURCE _REENTRANT _FORTIFY __NO_ __USER_LABEL __REGISTER __DEPRECATED __EXCEPTIONS`)
)

// isLanguages reports whether name is one of those that systems and the headers of OpenCL took, or
// of a function or a number of OpenCL C. Drivers
// have macros for many: as_int in all, and min, which PoCL renames.
func isLanguages(name string) bool {
	return HasAnyPrefix(name, starts()) || slices.Contains(taken(), name)
}

var taken = lazyFields(`
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
