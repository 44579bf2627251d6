package drivers

// NewDirectory returns what is known of the directory that files of these names are in.
func NewDirectory(names ...string) *Directory { return &Directory{names: names} }
