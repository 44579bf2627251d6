package flags

import (
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

func TestScanOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		options string
		want    reason.Reason
		Path    bool
	}{
		{"", 0, false},
		{"--optix-ir --gpu-architecture=sm_90 --split-compile=0 -minimal --device-int128 -ewp", 0, false},
		{"--time=x", reason.NotCacheableOptions, false},
		{"--fdevice-time-trace=x", reason.NotCacheableOptions, false},
		{"--ptxas-options=-v", 0, false},
		{"--ptxas-options=--register-usage-level=10 -Xptxas -O3,-v -Xptxas=-dlcm=cg", 0, false},
		{"--ptxas-options=--sp-bounds-check --ptxas-options -Werror -Xptxas=--suppress-stack-size-warning --ptxas-options=-regUsageLevel=5", 0, false},
		{"--ptxas-options=-lineinfo", reason.NotCacheableOptions, false}, // its times would not be in the key
		{"--ptxas-options -g", reason.NotCacheableOptions, false},
		{"--ptxas-options=--options-file=x", reason.NotCacheableOptions, false},
		{"--ptxas-options=-v,-optf=x", reason.NotCacheableOptions, false},
		{"-Xptxas x", reason.NotCacheableOptions, false},
		{"-Xptxas -o", reason.NotCacheableOptions, false},
		{"--ptxas-options -v -o", reason.NotCacheableOptions, false},
		{"--pch --pch-verbose=true --pch-messages=true --instantiate-templates-in-pch=false", 0, false},
		{"--pch --pch-messages=false", reason.NotCacheableHeaders, false}, // nothing would say which file was used
		{"--pch-dir=.", reason.NotCacheableHeaders, false},
		{"--use-pch=a.pch", reason.NotCacheableHeaders, false},
		{"--no-source-include", reason.NotCacheableOptions, false},
		{"-opt-info=inline", reason.NotCacheableOptions, false}, // 12.4 goes on with it in later compiles
		{"--optimization-info=inline", reason.NotCacheableOptions, false},
		{"--fdevice-syntax-only", reason.NotCacheableOptions, false},
		{"-Xcudafe --display_error_number", reason.NotCacheableOptions, false},
		{"--numba-debug", reason.NotCacheableOptions, false},
		{"--gen-opt-lto --relocatable-device-code=true --extensible-whole-program --jump-table-density=50", 0, false},
		{"--std=c++20 --builtin-initializer-list=false -arch=sm_90a --device-float128 --no-cache --frandom-seed=5 -Ofc=min", 0, false},
		{"-dopt on --dopt on --dopt=on", 0, false},
		{"--device-stack-protector --device-stack-protector=true", 0, false},
		{"-DN=4 -cl-fast-relaxed-math -cl-std=CL1.2 -O2 -g", 0, false},
		{"-I /usr/include -DX", 0, true},
		{"-I/usr/include", 0, true},
		{"--create-pch=a.pch", reason.NotCacheableHeaders, false},
		{"-create-pch=a.pch", reason.NotCacheableHeaders, false},
		{"-include a.h", reason.NotCacheableHeaders, false},
		{`"-include" a.h`, reason.NotCacheableHeaders, false},
		{"@file", reason.NotCacheableHeaders, false},
		{"-DNOW=__TIME__", reason.NotCacheableTime, false},
		{"-save-temps=/tmp/x", reason.NotCacheableOptions, false},
		{"-MD", reason.NotCacheableOptions, false},
		{"-cl-opt-disable -optimize", 0, false},
		{"-DX\t-include\ta.h", reason.NotCacheableHeaders, false},
		{"\\-include a.h", reason.NotCacheableHeaders, false},
		{`-inc"lude" a.h`, reason.NotCacheableHeaders, false},
		{"-DA=1\n-include a.h", reason.NotCacheableHeaders, false},
		{"-D'NOW=__TI''ME__'", reason.NotCacheableTime, false},
		{"-D NOW=__TI", reason.NotCacheableHeaders, false},
		{"-DEND=ME__ -DN=4", reason.NotCacheableHeaders, false},
		{"-DC(a,b)=a##b", reason.NotCacheableHeaders, false},
		{"-DH=__has_include(<x.h>)", reason.NotCacheableHeaders, false},
		{"-DA=asm", reason.NotCacheableFile, false},
		{"-Wp,-include,a.h", reason.NotCacheableOptions, false},
		{"-gsplit-dwarf", reason.NotCacheableOptions, false},
		{"-Xclang -load", reason.NotCacheableOptions, false},
		{"-fplugin=x.so", reason.NotCacheableOptions, false},
		{"-fno-such-thing", reason.NotCacheableOptions, false},
		{"-mllvm -x=f", reason.NotCacheableOptions, false},
		{"-mlink-builtin-bitcode f", reason.NotCacheableOptions, false},
		{"-isysroot dir", reason.NotCacheableOptions, false},
		{"-lm", reason.NotCacheableFile, false},
		{"-L dir", reason.NotCacheableFile, false},
		{"x.o", reason.NotCacheableFile, false},
		{"dir/x.BC", reason.NotCacheableFile, false},
		{"-D X -U Y -D Z=float -x spir -spir-std=1.2", 0, false},
		{"-D T=d -DNAME(a)=f_a -DN=1024u", 0, false},
		{`-DTEXT="a b" -D"SUM=(a + b)"`, 0, false},
		{"-I x.o", 0, true},
		{"-Werror -Wno-unused -w -ffast-math -fno-unroll-loops -ffp-contract=fast -g0", 0, false},
		{"--gpu-architecture=sm_90 -arch sm_90 --use_fast_math -lineinfo --std=c++17", 0, false},
		{"-ze-opt-level=2 -create-library -enable-link-options -cl-intel-256-GRF-per-thread", 0, false},
		{"1 tgllp cbs /some/path -1 a=b e __TI", 0, false}, // values of variables
	}
	for _, tt := range tests {
		t.Run(tt.options, func(t *testing.T) {
			t.Parallel()
			got, path := Scan(key.Tokens(tt.options))
			if got.Code != tt.want || path != tt.Path {
				t.Errorf("Scan = %v, %v; want %v, %v", got, path, tt.want, tt.Path)
			}
		})
	}
}
