package levelzero

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kernstash/kernstash/store"
)

// UnknownNames are the results with which a module refuses the names of a variable and of
// a function that it has not; 0: not known. NEO 26.27 says of SPIR-V that was built without the
// flags for it that it does not support that at all, and of native code that there is no such
// name. So they are kept with the code, for those who make one look like the other.
type UnknownNames [2]Result

// unknownName is none that a compiler lets a module have.
const unknownName = "kernstash: no such name"

func (m *Module) unknownNames() (u UnknownNames) {
	_, _, noGlobal := m.Global(unknownName)
	_, noFunction := m.Function(unknownName)
	for i, err := range []error{noGlobal, noFunction} {
		var e *Error
		if errors.As(err, &e) {
			u[i] = e.Result
		}
	}
	return u
}

// Binaries returns native code and what goes with it as an artifact has them.
func Binaries(native []byte, u UnknownNames) []store.Binary {
	b, _ := binary.Append(nil, binary.LittleEndian, u)
	return []store.Binary{{Form: store.FormFinal, Data: native}, {Form: store.FormIntermediate, Data: b}}
}

// NativeOf returns the native code of an artifact and what goes with it, if it has that.
func NativeOf(a *store.Artifact) (native []byte, u UnknownNames, err error) {
	if len(a.Binaries) == 0 || len(a.Binaries[0].Data) == 0 {
		return nil, u, fmt.Errorf("%w: no binary", ErrArgument)
	}
	if len(a.Binaries) > 1 && len(a.Binaries[1].Data) == binary.Size(u) {
		_, err = binary.Decode(a.Binaries[1].Data, binary.LittleEndian, &u)
	}
	return a.Binaries[0].Data, u, err
}
