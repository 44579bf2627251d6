//go:build nogpu || (!kernstash_shared && !((linux && (amd64 || arm64 || loong64 || riscv64)) || (darwin && (amd64 || arm64))))

package dl

// Call does nothing: no Func can be had in this build.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) uintptr { return 0 }

func open(string) (uintptr, error) { return 0, ErrUnsupported }

func loaded(string) (uintptr, error) { return 0, ErrUnsupported }

const anywhere = uintptr(0)

func symbol(uintptr, string) (uintptr, bool) { return 0, false }
