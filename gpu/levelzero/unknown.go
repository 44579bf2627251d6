package levelzero

import (
	"encoding/binary"
	"errors"

	"github.com/kernstash/kernstash/store"
)

// UnknownNames are the results with which a module refuses the names of a variable and of
// a function that it has not. NEO 26.27 says of SPIR-V that was built without the flags for
// it that it does not support that at all, and of native code that there is no such name.
// So they are kept with the code, for those who make one look like the other.
type UnknownNames struct {
	Global, Function Result
}

// unknownName is none that a compiler lets a module have.
const unknownName = "kernstash: no such name"

func (m *Module) unknownNames() UnknownNames {
	result := func(err error) Result {
		var e *Error
		if errors.As(err, &e) {
			return e.Result
		}
		return 0
	}
	_, _, err1 := m.Global(unknownName)
	_, err2 := m.Function(unknownName)
	return UnknownNames{result(err1), result(err2)}
}

// Binary returns the results as an artifact has them, behind the native code.
func (u UnknownNames) Binary() store.Binary {
	b := binary.LittleEndian.AppendUint32(nil, uint32(u.Global))
	return store.Binary{Form: store.FormIntermediate, Data: binary.LittleEndian.AppendUint32(b, uint32(u.Function))}
}

// UnknownNamesOf returns those of an artifact; none are there in one that has them not.
func UnknownNamesOf(a *store.Artifact) (u UnknownNames) {
	if len(a.Binaries) > 1 && len(a.Binaries[1].Data) == 8 {
		b := a.Binaries[1].Data
		u.Global, u.Function = Result(binary.LittleEndian.Uint32(b)), Result(binary.LittleEndian.Uint32(b[4:]))
	}
	return u
}
