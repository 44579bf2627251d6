package settings

// Source is who may decide a setting, the last word having the largest number.
type Source uint8

// The sources.
const (
	Default Source = iota
	File
	Program
	Environment
	Flag
)

func (s Source) String() string {
	return [...]string{"default", "file", "program", "environment", "flag"}[s]
}

// Origin says where a value came from.
type Origin struct {
	Source Source
	Path   string // of the file
}

func (o Origin) String() string {
	if o.Source == File {
		return "file " + o.Path
	}
	return o.Source.String()
}

// MarshalText writes what String returns.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
