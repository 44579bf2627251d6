//go:build !linux

package elfid

func queryCode() ([]Mapping, bool) { return nil, false }

func queryAt(uintptr) (Mapping, bool) { return Mapping{}, false }
